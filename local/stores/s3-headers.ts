import type { IncomingMessage } from 'node:http';
import { S3Error } from './s3-error.ts';
import type { ObjectRecord } from './s3-objects.ts';

export const contentTypeOf = ({ headers }: IncomingMessage) => headers['content-type'] ?? 'binary/octet-stream';

export const isKeptHeader = (name: string) =>
  name.startsWith('x-amz-meta-') ||
  ['cache-control', 'content-disposition', 'content-encoding', 'content-language'].includes(name);

export function keptHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (isKeptHeader(name) ? [[name, String(value)]] : [])),
  );
}

export function objectHeaders(record: ObjectRecord): Record<string, string> {
  return {
    ...record.headers,
    etag: `"${record.etag}"`,
    'content-type': record.contentType,
    'last-modified': new Date(record.modifiedAtMs).toUTCString(),
    'accept-ranges': 'bytes',
  };
}

/** `response-content-disposition` and its like, which S3 honours in signed requests only; here every request is signed. */
export function overrides(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries(
    [...query]
      .filter(([name]) => /^response-(content-(type|language|disposition|encoding)|cache-control|expires)$/.test(name))
      .map(([name, value]) => [name.replace('response-', ''), value]),
  );
}

export function matchesTag(wanted: string, record: ObjectRecord): boolean {
  return wanted === '*' || wanted.split(',').some((tag) => tag.trim().replaceAll('"', '') === record.etag);
}

export function readRange(header: string | undefined, bytes: number): { first: number; last: number } | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const first = from === '' ? Math.max(0, bytes - Number(to)) : Number(from);
  const last = from === '' || to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1);
  if (first >= bytes || first > last) throw new S3Error(416, 'InvalidRange', 'The requested range is not satisfiable');
  return { first, last };
}
