import { startFauxqs, type FauxqsServer } from 'fauxqs';
import * as z from 'zod';
import type { CallLedger } from '../runtime/calls.ts';
import type { Permissions } from '../runtime/permissions.ts';
import { accountId } from '../runtime/resolve.ts';
import { serveJsonService, ServiceError, type LoopbackServer } from './json-service.ts';

/** A queue as the template describes it. */
export const queueSchema = z.object({
  VisibilityTimeout: z.coerce.number().default(30),
  DelaySeconds: z.coerce.number().default(0),
  MessageRetentionPeriod: z.coerce.number().optional(),
  RedrivePolicy: z.object({ deadLetterTargetArn: z.string(), maxReceiveCount: z.coerce.number() }).optional(),
  FifoQueue: z.literal(false, 'The local runtime serves standard queues only.').optional(),
});

export type QueueDefinition = z.infer<typeof queueSchema>;

export interface ReceivedMessage {
  readonly MessageId: string;
  readonly ReceiptHandle: string;
  readonly Body: string;
  readonly MD5OfBody: string;
  readonly Attributes?: Record<string, string>;
  readonly MessageAttributes?: Record<string, Record<string, string>>;
}

export interface QueueDepth {
  readonly ready: number;
  readonly inFlight: number;
  readonly delayed: number;
}

/**
 * SQS in memory: a restart loses what is queued, as a queue may always do to a product that takes its messages for hints.
 * In front of fauxqs stands the gate that counts calls and checks grants.
 */
export class QueueStore {
  readonly #server: FauxqsServer;
  readonly #gate: LoopbackServer;
  readonly #region: string;
  readonly #queueNames: string[] = [];

  private constructor(server: FauxqsServer, gate: LoopbackServer, region: string) {
    this.#server = server;
    this.#gate = gate;
    this.#region = region;
  }

  static async start(region: string, permissions: () => Permissions, calls: CallLedger): Promise<QueueStore> {
    const server = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false, defaultRegion: region });
    const gate = await serveJsonService(async ({ caller, operation, body }) => {
      calls.record(caller, `sqs.${operation}`);
      const queue = queueNameOf(body['QueueUrl']);
      const action = `sqs:${operation.replace(/Batch$/, '')}`;
      const refusal = permissions().refusal(caller, { action, resources: [queueArn(region, queue)] });
      if (refusal !== undefined) throw new ServiceError(403, 'AccessDeniedException', refusal);
      return await forward(server.port, operation, body);
    });
    return new QueueStore(server, gate, region);
  }

  /** Where functions reach SQS. */
  get url(): string {
    return this.#gate.url;
  }

  createQueue(name: string, definition: QueueDefinition): void {
    const { RedrivePolicy, MessageRetentionPeriod } = definition;
    this.#server.createQueue(name, {
      region: this.#region,
      attributes: {
        VisibilityTimeout: String(definition.VisibilityTimeout),
        DelaySeconds: String(definition.DelaySeconds),
        ...(MessageRetentionPeriod === undefined ? {} : { MessageRetentionPeriod: String(MessageRetentionPeriod) }),
        ...(RedrivePolicy === undefined ? {} : { RedrivePolicy: JSON.stringify(RedrivePolicy) }),
      },
    });
    this.#queueNames.push(name);
  }

  /** Long-polls, as an event source mapping does: not through the gate, for Lambda's pollers are nobody's calls. */
  async receive(queue: string, most: number, waitSeconds: number): Promise<ReceivedMessage[]> {
    const answer = await forward(this.#server.port, 'ReceiveMessage', {
      QueueUrl: queue,
      MaxNumberOfMessages: most,
      WaitTimeSeconds: waitSeconds,
      MessageSystemAttributeNames: ['All'],
      MessageAttributeNames: ['All'],
    });
    return (answer['Messages'] as ReceivedMessage[] | undefined) ?? [];
  }

  async delete(queue: string, receiptHandles: readonly string[]): Promise<void> {
    await forward(this.#server.port, 'DeleteMessageBatch', {
      QueueUrl: queue,
      Entries: receiptHandles.map((ReceiptHandle, index) => ({ Id: String(index), ReceiptHandle })),
    });
  }

  send(queue: string, body: string): void {
    this.#server.sendMessage(queue, body, { region: this.#region });
  }

  depths(): Record<string, QueueDepth> {
    return Object.fromEntries(
      this.#queueNames.map((name) => {
        const messages = this.#server.inspectQueue(name)?.messages;
        const count = (list: unknown[] | undefined) => list?.length ?? 0;
        return [
          name,
          { ready: count(messages?.ready), inFlight: count(messages?.inflight), delayed: count(messages?.delayed) },
        ];
      }),
    );
  }

  async stop(): Promise<void> {
    await this.#gate.stop();
    await this.#server.stop();
  }
}

const queueNameOf = (url: unknown) => (typeof url === 'string' ? (url.split('/').at(-1) ?? '') : '');

const queueArn = (region: string, name: string) => `arn:aws:sqs:${region}:${accountId}:${name}`;

async function forward(port: number, operation: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `AmazonSQS.${operation}` },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  if (response.ok) return answer;
  throw new ServiceError(response.status, String(answer['__type']), String(answer['message']));
}
