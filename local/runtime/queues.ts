import * as z from 'zod';
import type { CloudAssembly } from '../assembly/cloud-assembly.ts';
import type { QueueDefinition, QueueStore, ReceivedMessage } from '../stores/sqs.ts';
import type { Functions, InvocationOutcome, LocalFunction } from './functions.ts';
import { resourcesOfType } from './identity.ts';
import type { Permissions } from './permissions.ts';
import type { Resolver } from './resolve.ts';

const mappingSchema = z.object({
  EventSourceArn: z.string(),
  FunctionName: z.string(),
  BatchSize: z.coerce.number().max(10, 'The local runtime has no batching window.').default(10),
  Enabled: z.boolean().default(true),
  FunctionResponseTypes: z.array(z.literal('ReportBatchItemFailures')).default([]),
  ScalingConfig: z.object({ MaximumConcurrency: z.coerce.number().min(2).max(1000) }).optional(),
  FilterCriteria: z.undefined('The local runtime filters no messages.').optional(),
});

/** A standard queue's mapping starts with five pollers. */
const pollersWithoutLimit = 5;
const longPollSeconds = 20;
/** What AWS asks of the function's role before it creates a mapping. */
const pollerActions = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];
const pauseAfterErrorMs = 1_000;

export interface QueuePollerOptions {
  readonly queueName: string;
  readonly queueArn: string;
  readonly region: string;
  readonly function: LocalFunction;
  readonly batchSize: number;
  readonly pollers: number;
  readonly reportsItemFailures: boolean;
  readonly queues: Pick<QueueStore, 'receive' | 'delete'>;
}

/** Reads the template's mappings of queues to functions. @throws where AWS would refuse one at deployment. */
export function readQueuePollers(
  assembly: CloudAssembly,
  resolver: Resolver,
  functions: Functions,
  queues: QueueStore,
  definitions: ReadonlyMap<string, QueueDefinition>,
  permissions: Permissions,
): QueuePoller[] {
  return resourcesOfType(assembly, 'AWS::Lambda::EventSourceMapping').flatMap((resource) => {
    const mapping = mappingSchema.parse(resolver.properties(resource));
    const [, , service, region = '', , queueName = ''] = mapping.EventSourceArn.split(':');
    const definition = definitions.get(queueName);
    if (service !== 'sqs' || definition === undefined)
      throw new Error(`The local runtime maps queues of the template only, not ${mapping.EventSourceArn}.`);
    const target = functions.byReference(mapping.FunctionName);
    if (definition.VisibilityTimeout * 1000 < target.spec.timeoutMs)
      throw new Error(`Queue ${queueName}: its visibility timeout is less than the timeout of ${target.spec.name}.`);
    for (const action of pollerActions) {
      const refusal = permissions.refusal(target.spec.name, { action, resources: [mapping.EventSourceArn] });
      if (refusal !== undefined) throw new Error(refusal);
    }
    if (!mapping.Enabled) return [];
    return new QueuePoller({
      queueName,
      queueArn: mapping.EventSourceArn,
      region,
      function: target,
      batchSize: mapping.BatchSize,
      pollers: mapping.ScalingConfig?.MaximumConcurrency ?? pollersWithoutLimit,
      reportsItemFailures: mapping.FunctionResponseTypes.length > 0,
      queues,
    });
  });
}

/** An event source mapping: as many pollers as may invoke at a time, each receiving, invoking, and deleting what succeeded. */
export class QueuePoller {
  readonly #options: QueuePollerOptions;
  #stopped = false;

  constructor(options: QueuePollerOptions) {
    this.#options = options;
  }

  start(): void {
    for (let index = 0; index < this.#options.pollers; index += 1) void this.#poll();
  }

  stop(): void {
    this.#stopped = true;
  }

  async #poll(): Promise<void> {
    const { queues, queueName, batchSize } = this.#options;
    while (!this.#stopped) {
      try {
        const messages = await queues.receive(queueName, batchSize, longPollSeconds);
        if (this.#stopped || messages.length === 0) continue;
        await this.#deliver(messages);
      } catch (error) {
        if (this.#stopped) return;
        console.error(`Polling ${queueName}:`, error);
        await new Promise((resolve) => setTimeout(resolve, pauseAfterErrorMs));
      }
    }
  }

  async #deliver(messages: readonly ReceivedMessage[]): Promise<void> {
    const { queues, queueName, reportsItemFailures } = this.#options;
    const outcome = await this.#options.function.invoke({ Records: messages.map((one) => this.#record(one)) });
    const failed = failedMessages(outcome, new Set(messages.map((one) => one.MessageId)), reportsItemFailures);
    const done = messages.filter((one) => !failed.has(one.MessageId));
    // What failed is left alone: it comes back when its visibility timeout ends, and to the dead-letter queue in the end.
    if (done.length > 0)
      await queues.delete(
        queueName,
        done.map((one) => one.ReceiptHandle),
      );
  }

  #record(message: ReceivedMessage) {
    return {
      messageId: message.MessageId,
      receiptHandle: message.ReceiptHandle,
      body: message.Body,
      attributes: message.Attributes ?? {},
      messageAttributes: Object.fromEntries(
        Object.entries(message.MessageAttributes ?? {}).map(([name, { StringValue, BinaryValue, DataType }]) => [
          name,
          { stringValue: StringValue, binaryValue: BinaryValue, dataType: DataType },
        ]),
      ),
      md5OfBody: message.MD5OfBody,
      eventSource: 'aws:sqs',
      eventSourceARN: this.#options.queueArn,
      awsRegion: this.#options.region,
    };
  }
}

const batchAnswer = z.object({
  batchItemFailures: z.array(z.object({ itemIdentifier: z.string().min(1) })).nullish(),
});

/**
 * Which messages an invocation leaves in the queue. Without partial answers: all or none. With them: an absent, null or
 * empty list is success; anything malformed, an empty or unknown identifier among it, fails the whole batch.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 */
export function failedMessages(
  outcome: InvocationOutcome,
  batch: ReadonlySet<string>,
  reportsItemFailures: boolean,
): ReadonlySet<string> {
  if (outcome.kind !== 'answered') return batch;
  if (!reportsItemFailures || outcome.payload === null) return new Set();
  const answer = batchAnswer.safeParse(outcome.payload);
  if (!answer.success) return batch;
  const failed = (answer.data.batchItemFailures ?? []).map((one) => one.itemIdentifier);
  return failed.every((id) => batch.has(id)) ? new Set(failed) : batch;
}
