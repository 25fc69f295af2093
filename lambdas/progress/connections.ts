import {
  ApiGatewayManagementApiClient,
  PostToConnectionCommand,
  type ApiGatewayManagementApiServiceException,
} from '@aws-sdk/client-apigatewaymanagementapi';
import type { Clock, Waiting } from '../domain/ports.ts';
import { systemClock, systemWaiting } from '../runtime/clock.ts';

export type Posted =
  | { readonly kind: 'posted' }
  /** Closed for good: its followers' entries may go. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** The socket connections of the WebSocket API. */
export interface Connections {
  /**
   * @param insist for what no later message replaces: it is tried again for a moment, until this is aborted. It may arrive
   * twice, where an answer was lost. Left out, the message has one try.
   */
  post(connectionId: string, message: unknown, insist?: AbortSignal): Promise<Posted>;
}

const connectTimeoutMs = 1_000;
const requestTimeoutMs = 1_000;

/** Between the tries. With these and three silent tries a message takes less than four seconds. */
const pausesMs = [200, 600];
/** No try begins later: a sandbox that was frozen meanwhile must not post a snapshot of long ago. */
const lastTryAfterMs = 3_000;

export interface ConnectionsSettings {
  readonly requestTimeoutMs: number;
  readonly time: Clock & Waiting;
}

const defaults: ConnectionsSettings = { requestTimeoutMs, time: { ...systemClock, ...systemWaiting } };

export class ApiGatewayConnections implements Connections {
  readonly #client: ApiGatewayManagementApiClient;
  readonly #time: Clock & Waiting;

  /** `endpoint`: the stage's callback URL (https), not its wss one. */
  constructor(endpoint: string, settings: Partial<ConnectionsSettings> = {}) {
    const { requestTimeoutMs: requestTimeout, time } = { ...defaults, ...settings };
    this.#time = time;
    this.#client = new ApiGatewayManagementApiClient({
      endpoint,
      // A lost live value is replaced by the next one: trying again would only delay that. The rest is insisted on below.
      maxAttempts: 1,
      // Without the last of them the SDK only warns, and waits for ever.
      requestHandler: { connectionTimeout: connectTimeoutMs, requestTimeout, throwOnRequestTimeout: true },
    });
  }

  async post(connectionId: string, message: unknown, insist?: AbortSignal): Promise<Posted> {
    const data = Buffer.from(JSON.stringify(message));
    const lastTryAt = this.#time.now() + lastTryAfterMs;
    let posted = await this.#try(connectionId, data);
    if (insist === undefined) return posted;
    for (const pauseMs of pausesMs) {
      if (posted.kind !== 'failed' || !mayPass(posted.error)) return posted;
      await this.#time.wait(pauseMs, insist);
      if (insist.aborted || this.#time.now() > lastTryAt) return posted;
      posted = await this.#try(connectionId, data);
    }
    return posted;
  }

  async #try(ConnectionId: string, Data: Buffer): Promise<Posted> {
    try {
      await this.#client.send(new PostToConnectionCommand({ ConnectionId, Data }));
      return { kind: 'posted' };
    } catch (error) {
      return isGone(error) ? { kind: 'gone' } : { kind: 'failed', error };
    }
  }
}

/** Throttled, broken or without an answer, as opposed to refused: the same message may get through a moment later. */
function mayPass(error: unknown): boolean {
  const status = statusOf(error);
  return status === undefined || status === 429 || status >= 500;
}

/** By status: with an empty body the SDK can't name the exception, and the body of a 410 is often empty. */
function isGone(error: unknown): boolean {
  return statusOf(error) === 410 || (error as Partial<Error>).name === 'GoneException';
}

function statusOf(error: unknown): number | undefined {
  return (error as Partial<ApiGatewayManagementApiServiceException>).$metadata?.httpStatusCode;
}
