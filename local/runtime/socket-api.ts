import { randomBytes, randomUUID } from 'node:crypto';
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import type { InvocationOutcome, LocalFunction } from './functions.ts';
import { commonLogTime, splitTarget } from './http-event.ts';
import { FrameLimit } from './frame-limit.ts';
import { authorizeConnection, type SocketAuthorizer } from './socket-authorizer.ts';
import { messageLimitBytes, type Connection, type SocketConnections } from './socket-connections.ts';

const frameLimitBytes = 32 * 1024;
const idleLimitMs = 10 * 60_000;
const lifeLimitMs = 2 * 60 * 60_000;

export interface SocketRoute {
  readonly function: LocalFunction;
  /** Whether what the function returns is sent to the client: a route has a route response for it. */
  readonly answers: boolean;
}

export interface SocketApiOptions {
  readonly apiId: string;
  readonly stage: string;
  readonly region: string;
  readonly routes: ReadonlyMap<string, SocketRoute>;
  /** Name of the message's member that chooses the route, from `$request.body.<name>`. */
  readonly selector: string;
  readonly authorizer: SocketAuthorizer | undefined;
  readonly connections: SocketConnections;
}

/** The part of a $connect request that its authorizer and its integration both get. */
export interface ConnectEvent {
  readonly headers: Record<string, string>;
  readonly multiValueHeaders: Record<string, string[]>;
  readonly queryStringParameters?: Record<string, string>;
  readonly multiValueQueryStringParameters?: Record<string, string[]>;
  readonly requestContext: Record<string, unknown>;
}

/** Serves a WebSocket API: refuses before the upgrade, routes messages in order, closes by API Gateway's own limits. */
export class SocketApi {
  readonly #options: SocketApiOptions;
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: messageLimitBytes });

  constructor(options: SocketApiOptions) {
    this.#options = options;
  }

  get apiId(): string {
    return this.#options.apiId;
  }

  get stage(): string {
    return this.#options.stage;
  }

  async upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    // A client that goes away while it is being authorized is not an error of ours.
    stream.on('error', () => stream.destroy());
    const { path } = splitTarget(request.url ?? '');
    if (path.replace(/\/$/, '') !== `/${this.#options.stage}`) return refuse(stream, 403, 'Forbidden');
    const connection = this.#options.connections.create(request, sourceIpOf(request));
    const event = this.#connectEvent(request, connection);
    const { authorizer } = this.#options;
    if (authorizer !== undefined) {
      const methodArn = `arn:aws:execute-api:${this.#options.region}:000000000000:${this.apiId}/${this.stage}/$connect`;
      const verdict = await authorizeConnection(authorizer, methodArn, event);
      switch (verdict.kind) {
        case 'refused':
          return refuse(stream, verdict.status, verdict.message);
        case 'allowed':
          connection.authorizer = verdict.context;
      }
    }
    const connect = this.#options.routes.get('$connect');
    const connected =
      connect &&
      (await connect.function.invoke({ ...this.#connectEvent(request, connection), isBase64Encoded: false }));
    const refusal = connected && connectRefusal(connected);
    if (refusal !== undefined) return refuse(stream, refusal, STATUS_CODES[refusal] ?? 'Refused');
    if (stream.destroyed) return;
    this.#server.handleUpgrade(request, stream, head, (socket) => this.#serve(connection, socket, stream));
  }

  stop(): void {
    for (const { socket } of this.#options.connections.all()) socket?.terminate();
    this.#server.close();
  }

  #serve(connection: Connection, socket: WebSocket, stream: Duplex): void {
    const { connections } = this.#options;
    connections.open(connection, socket);
    const frames = new FrameLimit(frameLimitBytes);
    stream.on('data', (chunk: Buffer) => {
      if (frames.exceededBy(chunk)) socket.close(1009, 'Message too big');
    });
    const life = setTimeout(() => socket.close(1001, 'Going away'), lifeLimitMs);
    const idle = setInterval(() => {
      if (Date.now() - connection.lastActiveAtMs >= idleLimitMs) socket.close(1001, 'Going away');
    }, 5_000);
    let handled = Promise.resolve();
    socket.on('message', (data: RawData) => {
      connection.lastActiveAtMs = Date.now();
      const body = Buffer.isBuffer(data)
        ? data
        : Buffer.concat([data].flat().map((part) => Buffer.from(part as Buffer)));
      handled = handled.then(() => this.#receive(connection, socket, body.toString('utf8')));
    });
    // A message over the limit ends in an error and, by ws itself, in close code 1009.
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => {
      clearTimeout(life);
      clearInterval(idle);
      connections.close(connection);
      const disconnect = this.#options.routes.get('$disconnect');
      const requestContext = {
        ...this.#requestContext(connection, '$disconnect', 'DISCONNECT'),
        disconnectStatusCode: code,
        disconnectReason: reason.toString(),
      };
      void disconnect?.function.invoke({ headers: {}, multiValueHeaders: {}, requestContext, isBase64Encoded: false });
    });
  }

  async #receive(connection: Connection, socket: WebSocket, body: string): Promise<void> {
    const { routes, selector } = this.#options;
    const key = selectRoute(body, selector);
    const routeKey = key !== undefined && routes.has(key) && !key.startsWith('$') ? key : '$default';
    const route = routes.get(routeKey);
    const requestContext = {
      ...this.#requestContext(connection, routeKey, 'MESSAGE'),
      messageId: randomBytes(8).toString('base64'),
    };
    const say = (text: string) => {
      if (socket.readyState === socket.OPEN) socket.send(text);
    };
    const problem = (message: string) =>
      say(JSON.stringify({ message, connectionId: connection.id, requestId: requestContext.requestId }));
    if (route === undefined) return problem('Forbidden');
    const outcome = await route.function.invoke({ requestContext, body, isBase64Encoded: false });
    if (outcome.kind !== 'answered') return problem('Internal server error');
    const answer = outcome.payload as { body?: unknown } | null;
    if (route.answers && typeof answer?.body === 'string') say(answer.body);
  }

  #connectEvent(request: IncomingMessage, connection: Connection): ConnectEvent {
    const query = new URLSearchParams(splitTarget(request.url ?? '').query);
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join(',') : (value ?? ''),
      ]),
    );
    return {
      headers,
      multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
      ...(query.size === 0
        ? {}
        : {
            queryStringParameters: Object.fromEntries(query),
            multiValueQueryStringParameters: Object.fromEntries(
              [...query.keys()].map((name) => [name, query.getAll(name)]),
            ),
          }),
      requestContext: this.#requestContext(connection, '$connect', 'CONNECT'),
    };
  }

  #requestContext(connection: Connection, routeKey: string, eventType: string) {
    const nowMs = Date.now();
    const requestId = randomUUID();
    return {
      routeKey,
      eventType,
      extendedRequestId: requestId,
      requestTime: commonLogTime(nowMs),
      messageDirection: 'IN',
      stage: this.stage,
      connectedAt: connection.connectedAtMs,
      requestTimeEpoch: nowMs,
      identity: { sourceIp: connection.sourceIp, userAgent: connection.userAgent },
      requestId,
      domainName: `${this.apiId}.execute-api.${this.#options.region}.amazonaws.com`,
      connectionId: connection.id,
      apiId: this.apiId,
      ...(connection.authorizer === undefined ? {} : { authorizer: connection.authorizer }),
    };
  }
}

function selectRoute(body: string, selector: string): string | undefined {
  try {
    const value: unknown = (JSON.parse(body) as Record<string, unknown> | null)?.[selector];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The status to refuse a connection with, or `undefined` where $connect lets it in. */
function connectRefusal(outcome: InvocationOutcome): number | undefined {
  switch (outcome.kind) {
    case 'answered': {
      const status = (outcome.payload as { statusCode?: unknown } | null)?.statusCode;
      if (typeof status !== 'number') return 500;
      return status >= 200 && status < 300 ? undefined : status;
    }
    case 'failed':
      return 502;
    case 'throttled':
      return 429;
    case 'too-large':
      return 500;
  }
}

export function refuse(stream: Duplex, status: number, message: string): void {
  const body = JSON.stringify({ message });
  stream.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

const sourceIpOf = (request: IncomingMessage) => (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
