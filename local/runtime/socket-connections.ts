import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WebSocket } from 'ws';
import { listenOnLoopback, type LoopbackServer } from '../stores/json-service.ts';
import type { CallLedger } from './calls.ts';
import { readBody, sendJson } from './http-body.ts';
import { callerOf, type Permissions } from './permissions.ts';
import { accountId } from './resolve.ts';

/** Message limit of a WebSocket API, both ways. */
export const messageLimitBytes = 128 * 1024;

export interface Connection {
  readonly id: string;
  readonly connectedAtMs: number;
  readonly sourceIp: string;
  readonly userAgent: string;
  lastActiveAtMs: number;
  /** Absent until $connect has been answered: nothing can be posted to the connection before. */
  socket?: WebSocket;
  authorizer?: Record<string, unknown>;
}

/** Every open connection of the WebSocket API. */
export class SocketConnections {
  readonly #open = new Map<string, Connection>();

  create(request: IncomingMessage, sourceIp: string): Connection {
    const nowMs = Date.now();
    // As on AWS the id ends in "=", which must be encoded in a path.
    const id = `${randomBytes(10).toString('base64url')}=`;
    const userAgent = request.headers['user-agent'] ?? '';
    return { id, connectedAtMs: nowMs, lastActiveAtMs: nowMs, sourceIp, userAgent };
  }

  open(connection: Connection, socket: WebSocket): void {
    connection.socket = socket;
    this.#open.set(connection.id, connection);
  }

  close(connection: Connection): void {
    this.#open.delete(connection.id);
  }

  find(id: string): Connection | undefined {
    return this.#open.get(id);
  }

  all(): Connection[] {
    return [...this.#open.values()];
  }
}

export interface ManagementOptions {
  readonly connections: SocketConnections;
  readonly permissions: () => Permissions;
  readonly calls: CallLedger;
  readonly region: string;
  /** Which API it manages; none where the template has no sockets. */
  readonly socket: { readonly apiId: string } | undefined;
}

const operations: Readonly<Record<string, string>> = {
  POST: 'PostToConnection',
  GET: 'GetConnection',
  DELETE: 'DeleteConnection',
};

/** The `@connections` API, on a port of its own as it has a host of its own on AWS. */
export async function serveManagement(options: ManagementOptions): Promise<LoopbackServer> {
  return await listenOnLoopback((request, response) => manage(request, response, options));
}

async function manage(request: IncomingMessage, response: ServerResponse, options: ManagementOptions): Promise<void> {
  const { connections, permissions, calls, region, socket: api } = options;
  const [, stage = '', encodedId] = /^\/([^/]+)\/@connections\/([^/?]+)/.exec(request.url ?? '') ?? [];
  const method = request.method ?? '';
  const operation = operations[method];
  if (encodedId === undefined || operation === undefined) return sendJson(response, 404, { message: 'Not Found' });
  const caller = callerOf(request.headers.authorization);
  if (caller === undefined)
    return refuse(response, 403, 'MissingAuthenticationTokenException', 'Missing Authentication Token');
  calls.record(caller, `execute-api.${operation}`);
  const id = decodeURIComponent(encodedId);
  const resource = `arn:aws:execute-api:${region}:${accountId}:${api?.apiId ?? ''}/${stage}/${method}/@connections/${id}`;
  const refusal = permissions().refusal(caller, { action: 'execute-api:ManageConnections', resources: [resource] });
  if (refusal !== undefined) return refuse(response, 403, 'ForbiddenException', refusal);
  const body = await readBody(request, messageLimitBytes);
  if (body === undefined) return refuse(response, 413, 'PayloadTooLargeException', 'Message too long');
  const connection = connections.find(id);
  const socket = connection?.socket;
  if (connection === undefined || socket === undefined || socket.readyState !== socket.OPEN)
    return refuse(response, 410, 'GoneException', null);
  switch (operation) {
    case 'GetConnection':
      return sendJson(response, 200, describe(connection));
    case 'DeleteConnection':
      socket.close(1001, 'Going away');
      response.writeHead(204).end();
      return;
    default:
      socket.send(body.toString('utf8'));
      connection.lastActiveAtMs = Date.now();
      response.writeHead(200).end();
  }
}

function describe({ connectedAtMs, lastActiveAtMs, sourceIp, userAgent }: Connection) {
  return {
    connectedAt: new Date(connectedAtMs).toISOString(),
    lastActiveAt: new Date(lastActiveAtMs).toISOString(),
    identity: { sourceIp, userAgent },
  };
}

function refuse(response: ServerResponse, status: number, type: string, message: string | null): void {
  sendJson(response, status, { message }, { 'x-amzn-errortype': type });
}
