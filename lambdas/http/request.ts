import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type * as z from 'zod';
import type { Principal, Scope } from '../domain/access.ts';
import type { FieldError } from '../domain/catalogue.ts';
import type { Log } from '../runtime/log.ts';
import { answerProblem, type HttpAnswer } from './answer.ts';
import type { Authenticator } from './authenticate.ts';
import type { Refusal } from './problem.ts';

export interface HttpRequest {
  readonly event: APIGatewayProxyEventV2;
  readonly requestId: string;
  readonly log: Log;
}

export type Route = (request: HttpRequest) => Promise<HttpAnswer>;

export interface AuthenticatedRequest extends HttpRequest {
  readonly principal: Principal;
}

/** A route for those who proved who they are and that they may come here. */
export function authenticated(
  authenticator: Authenticator,
  scope: Scope,
  route: (request: AuthenticatedRequest) => Promise<HttpAnswer>,
): Route {
  return async (request) => {
    const answer = await authenticator.authenticate({ headers: request.event.headers }, scope);
    if (answer.kind === 'principal') return route({ ...request, principal: answer.principal });
    const { code, detail, retryAfterSeconds } = answer;
    return answerProblem({ code, detail }, { requestId: request.requestId, retryAfterSeconds });
  };
}

/** The body as it was sent: API Gateway hands over everything that is not text in base64. */
export function bodyOf({ body, isBase64Encoded }: APIGatewayProxyEventV2): Buffer {
  return Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8');
}

/** The media type without its parameters, in lower case; empty where there is none. */
export function mediaTypeOf({ headers }: APIGatewayProxyEventV2): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

export type BodyRead<Value> =
  | { readonly kind: 'read'; readonly value: Value }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

export function refuseBody(refusal: Refusal): { readonly kind: 'refused'; readonly refusal: Refusal } {
  return { kind: 'refused', refusal };
}

export function readJsonBody<Schema extends z.ZodType>(
  event: APIGatewayProxyEventV2,
  schema: Schema,
): BodyRead<z.infer<Schema>> {
  if (mediaTypeOf(event) !== 'application/json') {
    return refuseBody({ code: 'media_type_unsupported', detail: 'Send `application/json`.' });
  }
  const parsed = parseJson(bodyOf(event).toString('utf8'));
  return parsed.kind === 'refused' ? parsed : readWith(schema, parsed.value);
}

export function readWith<Schema extends z.ZodType>(schema: Schema, value: unknown): BodyRead<z.infer<Schema>> {
  const read = schema.safeParse(value);
  if (read.success) return { kind: 'read', value: read.data };
  return refuseBody({ code: 'request_invalid', extra: { errors: fieldErrors(read.error) } });
}

export function parseJson(text: string): BodyRead<unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isShallow(value, deepestLevel)) return { kind: 'read', value };
    return refuseBody({ code: 'body_malformed', detail: `The JSON is nested more than ${deepestLevel} levels deep.` });
  } catch {
    return refuseBody({ code: 'body_malformed', detail: 'The JSON does not parse.' });
  }
}

export function fieldErrors({ issues }: z.ZodError): FieldError[] {
  return shortErrors(issues.slice(0, mostErrors).map(({ path, message }) => ({ field: path.join('.'), message })));
}

const mostErrors = 20;
const longestFieldChars = 100;
const longestMessageChars = 200;

/** They name what was sent, and megabytes that are all wrong must not become an answer that Lambda can't carry. */
export function shortErrors(errors: readonly FieldError[]): FieldError[] {
  return errors.slice(0, mostErrors).map(({ field, message }) => ({
    field: shortened(field, longestFieldChars),
    message: shortened(message, longestMessageChars),
  }));
}

function shortened(text: string, chars: number): string {
  return text.length > chars ? `${text.slice(0, chars - 1)}…` : text;
}

/** What walks a value goes one call deeper per level, and the store takes at most 32 of them. */
const deepestLevel = 16;

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1));
}

/** For a function that serves several routes: each by the key that API Gateway knows it by. */
export function byRoute(routes: Readonly<Record<string, Route>>): Route {
  return async (request) => {
    const route = Object.hasOwn(routes, request.event.routeKey) ? routes[request.event.routeKey] : undefined;
    return route?.(request) ?? answerProblem({ code: 'route_not_found' }, { requestId: request.requestId });
  };
}
