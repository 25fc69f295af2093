import { longestSocketMs, type SocketStore } from '../../lambdas/domain/sockets.ts';

/** Owners' open sockets in memory. */
export class MemorySocketStore implements SocketStore {
  readonly #open = new Map<string, Map<string, number>>();

  /** Connections that the owner is known to have. */
  of(owner: string): readonly string[] {
    return [...(this.#open.get(owner)?.keys() ?? [])];
  }

  async admit(owner: string, connectionId: string, now: number, limit: number): Promise<'admitted' | 'too_many'> {
    const open = this.#open.get(owner) ?? new Map<string, number>();
    if (open.has(connectionId)) return 'admitted';
    const living = [...open].filter(([, since]) => since + longestSocketMs > now);
    if (living.length >= limit) return 'too_many';
    // Those that must have ended are forgotten only when their place is needed.
    this.#open.set(owner, new Map([...(open.size < limit ? open : living), [connectionId, now]]));
    return 'admitted';
  }

  async leave(owner: string, connectionId: string): Promise<void> {
    this.#open.get(owner)?.delete(connectionId);
  }
}
