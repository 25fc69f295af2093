import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { problem, type Refusal } from './problem.ts';

export type HttpAnswer = APIGatewayProxyStructuredResultV2;

interface AnswerOptions {
  readonly requestId: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whole seconds; rounded up, at least 1. */
  readonly retryAfterSeconds?: number | undefined;
}

/** Answers depend on who asks and on the moment, so nothing between us and the caller may keep them. */
function standingHeaders({ requestId, headers, retryAfterSeconds }: AnswerOptions): Record<string, string> {
  return {
    'Cache-Control': 'no-store',
    'Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    ...(retryAfterSeconds === undefined ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterSeconds))) }),
    ...headers,
  };
}

export const answerJson = (statusCode: number, body: unknown, options: AnswerOptions): HttpAnswer => ({
  statusCode,
  headers: { ...standingHeaders(options), 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

export const answerNothing = (statusCode: 202 | 204, options: AnswerOptions): HttpAnswer => ({
  statusCode,
  headers: standingHeaders(options),
});

export const answerRedirect = (location: string, options: AnswerOptions): HttpAnswer => ({
  statusCode: 302,
  headers: { ...standingHeaders(options), Location: location },
});

export function answerProblem(refusal: Refusal, options: AnswerOptions): HttpAnswer {
  const body = problem(refusal, options.requestId);
  const challenge: Record<string, string> =
    body.status === 401 ? { 'WWW-Authenticate': 'Bearer realm="slowlane", X-API-Key realm="slowlane"' } : {};
  return {
    statusCode: body.status,
    headers: { ...standingHeaders(options), ...challenge, 'Content-Type': 'application/problem+json' },
    body: JSON.stringify(body),
  };
}
