import { SendMessageCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import type { Doorbell } from '../domain/ports.ts';
import { ringText } from './ring.ts';

/** SQS delays a message by whole seconds, 15 minutes at most. */
const longestDelaySeconds = 900;

const connectionTimeoutMs = 1_000;
const requestTimeoutMs = 3_000;

/**
 * By default the SDK waits for ever on a silent socket, and with a request timeout alone it only logs a warning. Where
 * SQS is comes from AWS's own variables, unless said.
 */
export function createSqs(elsewhere: Pick<SQSClientConfig, 'endpoint' | 'region' | 'credentials'> = {}): SQSClient {
  return new SQSClient({
    ...elsewhere,
    requestHandler: {
      connectionTimeout: connectionTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
    },
  });
}

/** Rings on the lane's SQS queue. A ring that comes twice, or early, does no harm. */
export class SqsDoorbell implements Doorbell {
  readonly #client: SQSClient;
  readonly #queueUrls: Readonly<Record<string, string>>;

  /** `queueUrls`: by lane. */
  constructor(client: SQSClient, queueUrls: Readonly<Record<string, string>>) {
    this.#client = client;
    this.#queueUrls = queueUrls;
  }

  async ring(lane: string, hint: string | undefined, delayMs = 0): Promise<void> {
    const QueueUrl = this.#queueUrls[lane];
    if (QueueUrl === undefined) throw new Error(`This deployment has no queue for lane ${lane}.`);
    await this.#client.send(
      new SendMessageCommand({
        QueueUrl,
        MessageBody: ringText(hint === undefined ? { lane } : { lane, hint }),
        DelaySeconds: Math.min(longestDelaySeconds, Math.max(0, Math.ceil(delayMs / 1000))),
      }),
    );
  }
}
