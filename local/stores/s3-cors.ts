import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod';
import { matchesOrigin } from '../runtime/cors.ts';

export const bucketCorsSchema = z.object({
  CorsRules: z.array(
    z.object({
      AllowedHeaders: z.array(z.string()).default([]),
      AllowedMethods: z.array(z.string()),
      AllowedOrigins: z.array(z.string()),
      ExposedHeaders: z.array(z.string()).default([]),
      MaxAge: z.coerce.number().optional(),
    }),
  ),
});

export type BucketCors = z.infer<typeof bucketCorsSchema>;

/** Headers that a bucket's rules add to an answer, or `undefined` where no rule covers the request: S3 refuses a preflight then. */
export function bucketCorsHeaders(
  cors: BucketCors | undefined,
  method: string,
  headers: IncomingHttpHeaders,
): Record<string, string> | undefined {
  const { origin } = headers;
  if (origin === undefined) return undefined;
  const asked = (headers['access-control-request-headers'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  const rule = cors?.CorsRules.find(
    (one) =>
      one.AllowedMethods.includes(method) &&
      one.AllowedOrigins.some((pattern) => matchesOrigin(pattern, origin)) &&
      asked.every((name) => one.AllowedHeaders.some((pattern) => matchesOrigin(pattern.toLowerCase(), name))),
  );
  if (rule === undefined) return undefined;
  return {
    'access-control-allow-origin': rule.AllowedOrigins.includes('*') ? '*' : origin,
    'access-control-allow-methods': rule.AllowedMethods.join(', '),
    vary: 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method',
    ...(asked.length > 0 ? { 'access-control-allow-headers': asked.join(', ') } : {}),
    ...(rule.ExposedHeaders.length > 0 ? { 'access-control-expose-headers': rule.ExposedHeaders.join(', ') } : {}),
    ...(rule.MaxAge === undefined ? {} : { 'access-control-max-age': String(rule.MaxAge) }),
  };
}
