import { request as startRequest, validateHeaderValue, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, openConnection, type LookupHost } from './connection.ts';
import { admit, type VendorNetwork } from './network.ts';

/**
 * One request to a vendor.
 *
 * `sendBy` (epoch) is the fence of a paid request: it never starts at or after that moment. `timeoutMs` is for the
 * whole call, from resolving the name to the last byte; for a stream, to the answer's headers.
 */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly sendBy?: number;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

export interface CallContext {
  readonly network: VendorNetwork;
  readonly clock: { now(): number };
  /** How names become addresses; the system's way where absent. */
  readonly lookupHost?: LookupHost;
}

export type NotSentCause =
  | 'too_late'
  | 'aborted'
  | 'timed_out'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'forbidden_url'
  | 'forbidden_header'
  | 'forbidden_address';

export type UnknownCause = 'reset' | 'timed_out' | 'aborted' | 'too_large' | 'truncated' | 'malformed';

export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  /** Names in lower case; repeated headers joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Proven: not one byte of the request left this process. */
export interface NotSent {
  readonly kind: 'not-sent';
  readonly cause: NotSentCause;
  readonly detail: string;
}

/** The request started and no whole answer came back: the vendor may have taken it, even where `bodySent` is false. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly cause: UnknownCause;
  readonly detail: string;
  /** The whole request had been handed to the operating system. */
  readonly bodySent: boolean;
}

export type CallOutcome = Answered | NotSent | Unknown;

/** An answer whose body is still arriving. `close` hangs up; the body then ends, or throws. */
export interface OpenAnswer extends Omit<Answered, 'kind' | 'body'> {
  readonly kind: 'open';
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly close: () => void;
}

/** Makes exactly one request and reads its whole answer. Never throws; never retries; a redirect is an answer. */
export async function callOnce(call: Call, context: CallContext): Promise<CallOutcome> {
  const limit = startLimit(call);
  try {
    const exchange = await begin(call, context, limit);
    return 'kind' in exchange ? exchange : await readWhole(exchange, call.maxBytes, limit);
  } finally {
    limit.stop();
  }
}

/** Makes exactly one request and hands out its answer as it arrives: for event streams, where the end means nothing. */
export async function openOnce(call: Call, context: CallContext): Promise<OpenAnswer | NotSent | Unknown> {
  const limit = startLimit(call);
  const exchange = await begin(call, context, limit);
  limit.stop();
  if ('kind' in exchange) return exchange;
  const { response, socket } = exchange;
  const hangUp = (): void => void socket.destroy();
  if (call.signal?.aborted) hangUp();
  call.signal?.addEventListener('abort', hangUp, { once: true });
  socket.once('close', () => call.signal?.removeEventListener('abort', hangUp));
  return { kind: 'open', ...head(response), chunks: chunksOf(response), close: hangUp };
}

interface Exchange {
  readonly socket: Socket;
  readonly response: IncomingMessage;
  readonly sent: { body: boolean };
}

/*
 * Why not `fetch`: it hides the socket, so "the connection was refused" and "the connection died after the vendor had
 * read a paid request" are the same TypeError, it may reuse a pooled connection that the vendor is just closing, and it
 * gives up after 300 s without headers whatever the caller says. Here the connection is opened first, by itself: until
 * it stands nothing can have been sent, and from `startRequest` on everything counts as sent.
 */
async function begin(call: Call, context: CallContext, limit: Limit): Promise<Exchange | NotSent | Unknown> {
  const { network, clock, lookupHost } = context;
  const admission = admit(call.url, network);
  if (admission.kind === 'refused') return notSent('forbidden_url', admission.detail);
  const unsendable = whyNotSendable(call.headers);
  if (unsendable !== undefined) return notSent('forbidden_header', unsendable);
  const connection = await openConnection(call.url, admission.reach, limit.signal, lookupHost);
  if (connection.kind === 'failed') {
    const cause = connection.cause === 'interrupted' ? limit.cause() : connection.cause;
    return notSent(cause, connection.detail);
  }
  const { socket } = connection;
  if (limit.signal.aborted || socket.destroyed) {
    socket.destroy();
    return limit.signal.aborted
      ? notSent(limit.cause(), 'before sending')
      : notSent('connect', 'closed before sending');
  }
  if (call.sendBy !== undefined && clock.now() >= call.sendBy) {
    socket.destroy();
    return notSent('too_late', `it had to start before ${call.sendBy}`);
  }
  return send(call, socket, limit);
}

/** A key with a line break in it, say: `startRequest` would throw for it. Names the header, and never tells its value. */
function whyNotSendable(headers: Call['headers']): string | undefined {
  try {
    for (const [name, value] of Object.entries(headers)) validateHeaderValue(name, value);
    return undefined;
  } catch (error) {
    return describe(error);
  }
}

function send(call: Call, socket: Socket, limit: Limit): Promise<Exchange | Unknown> {
  const sent = { body: false };
  const outgoing = startRequest({
    createConnection: () => socket,
    method: call.method,
    path: call.url.pathname + call.url.search,
    setHost: false,
    headers: {
      'accept-encoding': 'identity',
      'user-agent': 'slowlane/1',
      ...call.headers,
      host: call.url.host,
      connection: 'close',
      ...(call.body || call.method === 'POST' ? { 'content-length': String(call.body?.byteLength ?? 0) } : {}),
    },
  });
  return new Promise((settle) => {
    const interrupted = (): void => {
      socket.destroy();
      settle(unknown(limit.cause(), 'while waiting for the answer', sent.body));
    };
    limit.signal.addEventListener('abort', interrupted, { once: true });
    const finish = (outcome: Exchange | Unknown): void => {
      limit.signal.removeEventListener('abort', interrupted);
      if ('kind' in outcome) socket.destroy();
      settle(outcome);
    };
    outgoing.once('finish', () => (sent.body = true));
    outgoing.once('response', (response) => finish({ socket, response, sent }));
    outgoing.on('error', (error) => finish(unknown(causeOf(error), describe(error), sent.body)));
    outgoing.once('close', () => finish(unknown('reset', 'closed without an answer', sent.body)));
    outgoing.end(call.body);
  });
}

/** The parser's own codes begin with HPE_: what came back was not HTTP. */
function causeOf(error: Error): UnknownCause {
  return 'code' in error && String(error.code).startsWith('HPE_') ? 'malformed' : 'reset';
}

async function readWhole(exchange: Exchange, maxBytes: number, limit: Limit): Promise<Answered | Unknown> {
  const { response, socket, sent } = exchange;
  const hangUp = (): void => void socket.destroy();
  if (limit.signal.aborted) hangUp();
  limit.signal.addEventListener('abort', hangUp, { once: true });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    if (Number(response.headers['content-length'] ?? 0) > maxBytes) return tooLarge(maxBytes, sent.body);
    for await (const chunk of chunksOf(response)) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) return tooLarge(maxBytes, sent.body);
      chunks.push(chunk);
    }
  } catch (error) {
    if (limit.signal.aborted) return unknown(limit.cause(), 'while reading the answer', sent.body);
    return unknown(causeOf(error as Error) === 'malformed' ? 'malformed' : 'truncated', describe(error), sent.body);
  } finally {
    limit.signal.removeEventListener('abort', hangUp);
    socket.destroy();
  }
  return { kind: 'answered', ...head(response), body: Buffer.concat(chunks) };
}

async function* chunksOf(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  for await (const chunk of response) yield chunk as Buffer;
}

function head(response: IncomingMessage): Pick<Answered, 'status' | 'headers'> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return { status: response.statusCode ?? 0, headers };
}

interface Limit {
  readonly signal: AbortSignal;
  cause(): 'timed_out' | 'aborted';
  stop(): void;
}

function startLimit({ timeoutMs, signal }: Call): Limit {
  const controller = new AbortController();
  let cause: 'timed_out' | 'aborted' = 'aborted';
  const timer = setTimeout(() => {
    cause = 'timed_out';
    controller.abort();
  }, timeoutMs);
  const abort = (): void => controller.abort();
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    cause: () => cause,
    stop: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
}

function notSent(cause: NotSentCause, detail: string): NotSent {
  return { kind: 'not-sent', cause, detail };
}

function unknown(cause: UnknownCause, detail: string, bodySent: boolean): Unknown {
  return { kind: 'unknown', cause, detail, bodySent };
}

function tooLarge(maxBytes: number, bodySent: boolean): Unknown {
  return unknown('too_large', `the answer is over ${maxBytes} bytes`, bodySent);
}
