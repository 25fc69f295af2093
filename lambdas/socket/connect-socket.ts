import { ownerOf } from '../domain/job.ts';
import type { Clock } from '../domain/ports.ts';
import type { SocketStore } from '../domain/sockets.ts';
import { PROBLEMS } from '../http/problem.ts';
import type { SocketAnswer, SocketEvent } from './entry.ts';

export interface ConnectSocketSettings {
  readonly sockets: SocketStore;
  readonly clock: Clock;
  /** How many one owner may have open. */
  readonly limit: number;
}

/** `$connect`, the ticket being used. A refusal is a bare status: API Gateway sends no body before a socket is open. */
export async function connectSocket(
  { principal, connectionId, log }: SocketEvent,
  { sockets, clock, limit }: ConnectSocketSettings,
): Promise<SocketAnswer> {
  const owner = ownerOf(principal.tenant, principal.user);
  const admitted = await sockets.admit(owner, connectionId, clock.now(), limit);
  switch (admitted) {
    case 'admitted':
      log.write('socket_opened', {});
      return { statusCode: 200 };
    case 'too_many':
      log.write('socket_refused', { reason: 'socket_limit' });
      return { statusCode: PROBLEMS.socket_limit.status };
    default:
      return admitted satisfies never;
  }
}

/** `$disconnect`: best effort, since API Gateway doesn't promise to tell. Jobs drop a dead follower by themselves. */
export async function disconnectSocket(
  { principal, connectionId, disconnectReason, log }: SocketEvent,
  { sockets }: Pick<ConnectSocketSettings, 'sockets'>,
): Promise<SocketAnswer> {
  await sockets.leave(ownerOf(principal.tenant, principal.user), connectionId);
  log.write('socket_closed', { reason: disconnectReason });
  return { statusCode: 200 };
}
