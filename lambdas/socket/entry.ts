import middy from '@middy/core';
import * as z from 'zod';
import type { Principal } from '../domain/access.ts';
import { withinInvocation } from '../runtime/invocation.ts';
import type { Log } from '../runtime/log.ts';
import { connectionContext } from './principal.ts';

const socketEvent = z.object({
  requestContext: z.object({
    routeKey: z.string(),
    connectionId: z.string().min(1),
    requestId: z.string(),
    authorizer: connectionContext,
    disconnectReason: z.string().nullish(),
  }),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().nullish(),
});

/** One event of one connection. Who is at its other end was decided when it opened. */
export interface SocketEvent {
  readonly connectionId: string;
  readonly requestId: string;
  readonly principal: Principal;
  readonly body: string;
  readonly disconnectReason: string | undefined;
  readonly log: Log;
}

/** At `$connect` the status decides whether the socket opens; API Gateway ignores it everywhere else. */
export interface SocketAnswer {
  readonly statusCode: number;
}

export interface SocketEntrySettings {
  readonly log: Log;
  /** Tells the other end that its message came to nothing, where that can still be told. */
  readonly failed?: (event: SocketEvent) => Promise<void>;
}

/** What every function of the socket API does around its work. What throws is broken infrastructure: logged, and 503. */
export function socketHandler(
  serve: (event: SocketEvent) => Promise<SocketAnswer>,
  { log, failed }: SocketEntrySettings,
) {
  return middy({ timeoutEarlyInMillis: 0 }).handler(async (raw: unknown): Promise<SocketAnswer> => {
    const { requestContext, body, isBase64Encoded } = socketEvent.parse(raw);
    const { connectionId, requestId, authorizer: principal, routeKey, disconnectReason } = requestContext;
    const event: SocketEvent = {
      connectionId,
      requestId,
      principal,
      body: Buffer.from(body ?? '', isBase64Encoded === true ? 'base64' : 'utf8').toString('utf8'),
      disconnectReason: disconnectReason ?? undefined,
      log: log.about({ requestId }),
    };
    try {
      return await withinInvocation(requestId, () => serve(event));
    } catch (error) {
      event.log.write('request_failed', { method: 'SOCKET', route: routeKey, error });
      await failed?.(event);
      return { statusCode: 503 };
    }
  });
}
