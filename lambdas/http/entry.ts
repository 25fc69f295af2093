import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import type { Clock } from '../domain/ports.ts';
import { withinInvocation } from '../runtime/invocation.ts';
import type { Log } from '../runtime/log.ts';
import { answerProblem, type HttpAnswer } from './answer.ts';
import type { ProblemCode } from './problem.ts';
import type { Route } from './request.ts';

export interface EntrySettings {
  readonly log: Log;
  readonly clock: Clock;
}

type Entry = MiddlewareObj<APIGatewayProxyEventV2, HttpAnswer, Error, Context, { startedAt?: number }>;

const retryAfterSeconds = 2;

/**
 * What every HTTP function does around its route: one log line per request, and an answer of ours whatever breaks.
 * What a route throws is broken infrastructure or a broken invariant. Neither says whether the request took effect, so
 * the only safe advice is the same request with the same key.
 */
export function httpHandler(route: Route, { log, clock }: EntrySettings) {
  const entry: Entry = {
    before: ({ internal }) => {
      internal.startedAt = clock.now();
    },
    after: ({ event, internal, response }) => {
      const startedAt = internal.startedAt ?? clock.now();
      log.about({ requestId: event.requestContext.requestId }).write('request_answered', {
        ...placeOf(event),
        status: response?.statusCode,
        durationMs: clock.now() - startedAt,
      });
    },
    onError: (request) => {
      const { requestId } = request.event.requestContext;
      log.about({ requestId }).write('request_failed', { ...placeOf(request.event), error: request.error });
      request.response = answerProblem({ code: codeOf(request) }, { requestId, retryAfterSeconds });
    },
  };
  return middy<APIGatewayProxyEventV2, HttpAnswer>()
    .use(entry)
    .handler((event) => {
      const { requestId } = event.requestContext;
      return withinInvocation(requestId, () => route({ event, requestId, log: log.about({ requestId }) }));
    });
}

function codeOf({ event, error }: { readonly event: APIGatewayProxyEventV2; readonly error: unknown }): ProblemCode {
  if (isBug(error)) return 'internal';
  const { method } = event.requestContext.http;
  return method === 'POST' && event.headers['idempotency-key'] !== undefined ? 'try_again_same_key' : 'unavailable';
}

/** `fetch` throws a TypeError with a cause where no answer came; without one it is our own mistake. */
function isBug(error: unknown): boolean {
  if (error instanceof TypeError) return error.cause === undefined;
  return error instanceof RangeError || error instanceof ReferenceError;
}

/** The route as declared, not the path: paths hold ids. */
function placeOf({ requestContext, routeKey }: APIGatewayProxyEventV2): { method: string; route: string } {
  return { method: requestContext.http.method, route: routeKey };
}
