import * as z from 'zod';
import type { IncomingHttpHeaders } from 'node:http';

export const corsSchema = z.object({
  AllowOrigins: z.array(z.string()).default([]),
  AllowMethods: z.array(z.string()).default([]),
  AllowHeaders: z.array(z.string()).default([]),
  ExposeHeaders: z.array(z.string()).default([]),
  MaxAge: z.coerce.number().optional(),
  AllowCredentials: z.boolean().default(false),
});

export type Cors = z.infer<typeof corsSchema>;

export const isPreflight = (method: string, headers: IncomingHttpHeaders) =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;

/** An HTTP API that has CORS configured answers preflights itself, with 204; an origin that it doesn't know gets no headers. */
export function preflightHeaders(cors: Cors, origin: string | undefined): Record<string, string> {
  const allowed = originHeaders(cors, origin);
  if (allowed === undefined) return {};
  return {
    ...allowed,
    ...(cors.AllowMethods.length > 0 ? { 'access-control-allow-methods': cors.AllowMethods.join(',') } : {}),
    ...(cors.AllowHeaders.length > 0
      ? { 'access-control-allow-headers': cors.AllowHeaders.join(',').toLowerCase() }
      : {}),
    ...(cors.MaxAge === undefined ? {} : { 'access-control-max-age': String(cors.MaxAge) }),
  };
}

/** Replaces whatever CORS headers the function itself wrote, as API Gateway does. */
export function withCors(
  cors: Cors,
  origin: string | undefined,
  headers: Record<string, string>,
): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => !name.startsWith('access-control-'));
  const allowed = originHeaders(cors, origin);
  if (allowed === undefined) return Object.fromEntries(own);
  const exposed = cors.ExposeHeaders.join(',').toLowerCase();
  return {
    ...Object.fromEntries(own),
    ...allowed,
    ...(exposed === '' ? {} : { 'access-control-expose-headers': exposed }),
  };
}

function originHeaders(cors: Cors, origin: string | undefined): Record<string, string> | undefined {
  if (origin === undefined) return undefined;
  const credentials = cors.AllowCredentials ? { 'access-control-allow-credentials': 'true' } : {};
  if (cors.AllowOrigins.includes('*')) return { 'access-control-allow-origin': '*', ...credentials };
  if (!cors.AllowOrigins.some((pattern) => matchesOrigin(pattern, origin))) return undefined;
  return { 'access-control-allow-origin': origin, vary: 'origin', ...credentials };
}

/** API Gateway knows `https://*` and `http://*`; S3 knows one `*` anywhere. */
export function matchesOrigin(pattern: string, origin: string): boolean {
  const [before = '', ...after] = pattern.split('*');
  if (after.length === 0) return pattern === origin;
  const rest = after.join('*');
  return origin.startsWith(before) && origin.endsWith(rest) && origin.length >= before.length + rest.length;
}
