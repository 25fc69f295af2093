import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** One request on its way to its answer. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export function answerJson(
  { response }: Exchange,
  status: number,
  body: unknown,
  headers: OutgoingHttpHeaders = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

export function answerError(
  exchange: Exchange,
  status: number,
  reason: string,
  headers: OutgoingHttpHeaders = {},
): void {
  answerJson(exchange, status, { error: reason }, headers);
}

/** Resets the connection without an answer, as a crashed server or a cut network does. */
export function dropConnection({ request }: Exchange): void {
  request.socket.resetAndDestroy();
}

/** Leaves the caller without an answer until `released` aborts; then the connection is cut. */
export function holdConnection(exchange: Exchange, released: AbortSignal): void {
  const drop = () => dropConnection(exchange);
  if (released.aborted) return drop();
  released.addEventListener('abort', drop, { once: true });
  exchange.response.once('close', () => released.removeEventListener('abort', drop));
}

/**
 * The whole body, or undefined if it is longer than `maxBytes`; the rest is then read and thrown away, because a caller
 * that still sends doesn't hear an answer. Throws if the caller went away.
 */
export async function readBody({ request }: Exchange, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) throw new TypeError('The request gave text where it should give bytes.');
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  return bytes <= maxBytes ? Buffer.concat(chunks) : undefined;
}
