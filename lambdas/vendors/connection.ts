import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { addressKind } from './address.ts';
import { hostOf, type Reach } from './network.ts';

/** Why no connection was made. Not one byte of a request has left in any of these cases. */
export type ConnectFailure = 'dns' | 'forbidden_address' | 'connect' | 'tls' | 'interrupted';

export type Connection =
  | { readonly kind: 'connected'; readonly socket: Socket }
  | { readonly kind: 'failed'; readonly cause: ConnectFailure; readonly detail: string };

/**
 * Opens a fresh connection to the host of `url`: TCP, and TLS where the scheme is https (HTTP/1.1 only).
 *
 * The name is resolved once, every address is checked, and the connection is pinned to the checked ones: a name that
 * answers differently the second time (DNS rebinding) is never asked a second time.
 */
export async function openConnection(
  url: URL,
  reach: Reach,
  signal: AbortSignal,
  lookupHost: LookupHost = lookupSystem,
): Promise<Connection> {
  const host = hostOf(url);
  const resolved = await resolve(host, signal, lookupHost);
  if (resolved.kind === 'failed') return resolved;
  const forbidden = resolved.addresses.find(({ address }) => !isWithin(address, reach));
  if (forbidden) return failed('forbidden_address', `${host} resolves to ${forbidden.address}`);
  return shakeHands(url, host, resolved.addresses, signal);
}

/** Every address of a host. Rejects where there is none. */
export type LookupHost = (host: string) => Promise<LookupAddress[]>;

const lookupSystem: LookupHost = (host) => lookup(host, { all: true });

function isWithin(address: string, reach: Reach): boolean {
  const kind = addressKind(address);
  return kind !== 'never' && reach.includes(kind);
}

type Resolved =
  | { readonly kind: 'resolved'; readonly addresses: LookupAddress[] }
  | Extract<Connection, { kind: 'failed' }>;

function resolve(host: string, signal: AbortSignal, lookupHost: LookupHost): Promise<Resolved> {
  return new Promise((settle) => {
    const interrupted = (): void => settle(failed('interrupted', 'while resolving the name'));
    if (signal.aborted) return interrupted();
    signal.addEventListener('abort', interrupted, { once: true });
    lookupHost(host)
      .then(
        (addresses) => settle({ kind: 'resolved', addresses }),
        (error: unknown) => settle(failed('dns', describe(error))),
      )
      .finally(() => signal.removeEventListener('abort', interrupted));
  });
}

// Long enough for a far-away vendor's first address to answer before the next one is tried beside it.
const nextAddressAfterMs = 1_000;

function shakeHands(url: URL, host: string, addresses: LookupAddress[], signal: AbortSignal): Promise<Connection> {
  const secure = url.protocol === 'https:';
  const options = {
    host,
    port: Number(url.port) || (secure ? 443 : 80),
    lookup: pinnedTo(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressAfterMs,
  };
  return new Promise((settle) => {
    if (signal.aborted) return settle(failed('interrupted', 'before connecting'));
    let tcpIsOpen = false;
    const socket = secure
      ? connectTls({ ...options, ALPNProtocols: ['http/1.1'], ...(isIP(host) === 0 ? { servername: host } : {}) })
      : connectTcp({ ...options, noDelay: true });
    const interrupted = (): void => {
      socket.destroy();
      settle(failed('interrupted', 'while connecting'));
    };
    signal.addEventListener('abort', interrupted, { once: true });
    const finish = (connection: Connection): void => {
      signal.removeEventListener('abort', interrupted);
      if (connection.kind === 'failed') socket.destroy();
      settle(connection);
    };
    socket.once('connect', () => (tcpIsOpen = true));
    socket.once(secure ? 'secureConnect' : 'connect', () => finish({ kind: 'connected', socket }));
    socket.once('close', () => finish(failed(tcpIsOpen ? 'tls' : 'connect', 'closed by the other side')));
    // Stays for good: an error between the handshake and the request must not be an uncaught one.
    socket.on('error', (error) => finish(failed(tcpIsOpen ? 'tls' : 'connect', describe(error))));
  });
}

function pinnedTo(addresses: LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all || !first) callback(null, addresses);
    else callback(null, first.address, first.family);
  };
}

function failed(cause: ConnectFailure, detail: string): Extract<Connection, { kind: 'failed' }> {
  return { kind: 'failed', cause, detail };
}

/** An error as one short line: Node's aggregate of several failed addresses has no message of its own. */
export function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ');
  return error instanceof Error ? error.message : String(error);
}
