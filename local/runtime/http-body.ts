import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * The whole body, or `undefined` where it exceeds the limit. The rest of such a body is read and dropped, for a client that
 * is still writing would see a reset connection in place of our answer.
 */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= limitBytes) chunks.push(chunk);
  }
  return size > limitBytes ? undefined : Buffer.concat(chunks);
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const content = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': content.length, ...headers });
  response.end(content);
}
