import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readBody, sendJson } from '../runtime/http-body.ts';
import { callerOf } from '../runtime/permissions.ts';

export interface JsonRequest {
  readonly caller: string;
  /** After the dot of `X-Amz-Target`. */
  readonly operation: string;
  readonly body: Record<string, unknown>;
}

/** A refusal in the shape of AWS's JSON protocols. */
export class ServiceError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const bodyLimitBytes = 16 * 1024 * 1024;

/** One AWS service over its JSON protocol, on a loopback port of its own. */
export async function serveJsonService(handle: (request: JsonRequest) => Promise<unknown>): Promise<LoopbackServer> {
  return await listenOnLoopback(async (request, response) => {
    try {
      const caller = callerOf(request.headers.authorization);
      if (caller === undefined) throw new ServiceError(403, 'MissingAuthenticationTokenException', 'Missing signature');
      const content = await readBody(request, bodyLimitBytes);
      if (content === undefined) throw new ServiceError(413, 'RequestTooLargeException', 'Request too large');
      const operation = String(request.headers['x-amz-target'] ?? '').split('.')[1] ?? '';
      const body = JSON.parse(content.toString('utf8') || '{}') as Record<string, unknown>;
      sendJson(response, 200, await handle({ caller, operation, body }), jsonContent);
    } catch (thrown) {
      const error = thrown instanceof ServiceError ? thrown : new ServiceError(500, 'InternalFailure', String(thrown));
      sendJson(
        response,
        error.status,
        { __type: error.code, message: error.message },
        { ...jsonContent, 'x-amzn-errortype': error.code },
      );
    }
  });
}

const jsonContent = { 'content-type': 'application/x-amz-json-1.1' };

export interface LoopbackServer {
  readonly url: string;
  stop(): Promise<void>;
}

export async function listenOnLoopback(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<LoopbackServer> {
  const server = createServer((request, response) => {
    handle(request, response).catch((thrown: unknown) => {
      // The connection broke or a handler did: nothing can be said on it any more.
      response.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, stop: () => closeServer(server) };
}

export async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
