import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod';

export interface HttpRequest {
  readonly method: string;
  /** As it came: path and query, still encoded. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly sourceIp: string;
  readonly protocol: string;
}

export interface MatchedRoute {
  readonly routeKey: string;
  readonly pathParameters: Readonly<Record<string, string>>;
}

export interface EventSurroundings {
  readonly apiId: string;
  readonly accountId: string;
  readonly stage: string;
  readonly requestId: string;
  readonly nowMs: number;
  readonly forwardedProtocol: string;
}

/** The payload of format version 2.0, field by field as an HTTP API sends it to a Lambda integration. */
export function buildHttpEvent(request: HttpRequest, route: MatchedRoute, around: EventSurroundings) {
  const { path, query } = splitTarget(request.target);
  const { cookie, connection: _, ...headers } = request.headers;
  const isBase64Encoded = request.body.length > 0 && !isText(request.headers['content-type']);
  const queryParameters = joinedQuery(query);
  const host = request.headers.host ?? 'localhost';
  return {
    version: '2.0',
    routeKey: route.routeKey,
    rawPath: decodePath(path),
    rawQueryString: query,
    ...(cookie === undefined ? {} : { cookies: cookie.split(';').map((one) => one.trim()) }),
    headers: {
      ...joinedHeaders(headers),
      host,
      'x-amzn-trace-id': `Root=1-${Math.floor(around.nowMs / 1000).toString(16)}-${around.requestId.replaceAll('-', '').slice(0, 24)}`,
      'x-forwarded-for': forwardedFor(request),
      'x-forwarded-port': host.split(':')[1] ?? (around.forwardedProtocol === 'https' ? '443' : '80'),
      'x-forwarded-proto': around.forwardedProtocol,
    },
    ...(Object.keys(queryParameters).length === 0 ? {} : { queryStringParameters: queryParameters }),
    requestContext: {
      accountId: around.accountId,
      apiId: around.apiId,
      domainName: host,
      domainPrefix: host.split('.')[0],
      http: {
        method: request.method,
        path: decodePath(path),
        protocol: request.protocol,
        sourceIp: request.sourceIp,
        userAgent: request.headers['user-agent'] ?? '',
      },
      requestId: around.requestId,
      routeKey: route.routeKey,
      stage: around.stage,
      time: commonLogTime(around.nowMs),
      timeEpoch: around.nowMs,
    },
    ...(Object.keys(route.pathParameters).length === 0 ? {} : { pathParameters: route.pathParameters }),
    ...(request.body.length === 0 ? {} : { body: request.body.toString(isBase64Encoded ? 'base64' : 'utf8') }),
    isBase64Encoded,
  };
}

/**
 * What an HTTP API passes on as text; every other body, multipart or one without a type among them, arrives as base64.
 */
export function isText(contentType: string | undefined): boolean {
  if (contentType === undefined) return false;
  const mediaType = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  return /^text\/|^application\/(json|javascript|xml)$|\+(json|xml)$/.test(mediaType);
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: readonly string[];
  readonly body: Buffer;
}

const structuredResult = z.object({
  statusCode: z.coerce.number().int().min(100).max(599),
  headers: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).nullish(),
  cookies: z.array(z.string()).nullish(),
  body: z.union([z.string(), z.number(), z.boolean()]).nullish(),
  isBase64Encoded: z.boolean().nullish(),
});

/** What an HTTP API makes of a function's result; `undefined` where it would answer 500 for a malformed one. */
export function readHttpResult(result: unknown): HttpAnswer | undefined {
  const isStructured = typeof result === 'object' && result !== null && 'statusCode' in result;
  if (!isStructured) {
    const body = Buffer.from(typeof result === 'string' ? result : JSON.stringify(result ?? null));
    return { status: 200, headers: { 'content-type': 'application/json' }, cookies: [], body };
  }
  const parsed = structuredResult.safeParse(result);
  if (!parsed.success) return undefined;
  const { statusCode, headers, cookies, body, isBase64Encoded } = parsed.data;
  const named = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  return {
    status: statusCode,
    headers: { 'content-type': 'text/plain;charset=utf-8', ...Object.fromEntries(named) },
    cookies: cookies ?? [],
    body: Buffer.from(String(body ?? ''), isBase64Encoded === true ? 'base64' : 'utf8'),
  };
}

export function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf('?');
  return mark < 0 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

export function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function joinedQuery(query: string): Record<string, string> {
  const parameters = new URLSearchParams(query);
  return Object.fromEntries([...new Set(parameters.keys())].map((name) => [name, parameters.getAll(name).join(',')]));
}

function joinedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const present = Object.entries(headers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    present.map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : (value ?? '')]),
  );
}

function forwardedFor({ headers, sourceIp }: HttpRequest): string {
  const before = headers['x-forwarded-for'];
  return before === undefined ? sourceIp : `${String(before)}, ${sourceIp}`;
}

/** `30/Nov/2026:23:05:01 +0000` */
export function commonLogTime(nowMs: number): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(new Date(nowMs).toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}
