import type {
  AccessStore,
  ApiKey,
  KeyCreation,
  KeyRevocation,
  Principal,
  TicketUse,
} from '../../lambdas/domain/access.ts';

export class MemoryAccessStore implements AccessStore {
  readonly #keys = new Map<string, ApiKey>();
  readonly #tickets = new Map<string, { principal: Principal; expiresAtMs: number }>();

  findKey(keySha256: string): Promise<ApiKey | undefined> {
    return Promise.resolve(this.#keys.get(keySha256));
  }

  createKey(keySha256: string, key: ApiKey): Promise<KeyCreation> {
    const known = this.#keys.get(keySha256);
    if (known?.id === key.id && known.createdAtMs === key.createdAtMs) return Promise.resolve({ kind: 'created' });
    if (known !== undefined || this.#hashOf(key.id) !== undefined) return Promise.resolve({ kind: 'already_exists' });
    this.#keys.set(keySha256, structuredClone(key));
    return Promise.resolve({ kind: 'created' });
  }

  listKeys(): Promise<readonly ApiKey[]> {
    return Promise.resolve(
      [...this.#keys.values()].toSorted(
        (one, other) => one.createdAtMs - other.createdAtMs || (one.id < other.id ? -1 : 1),
      ),
    );
  }

  revokeKey(keyId: string, revokedAtMs: number): Promise<KeyRevocation> {
    const keySha256 = this.#hashOf(keyId);
    const key = keySha256 === undefined ? undefined : this.#keys.get(keySha256);
    if (keySha256 === undefined || key === undefined) return Promise.resolve({ kind: 'not_found' });
    if (key.revokedAtMs !== undefined) return Promise.resolve({ kind: 'already_revoked', key });
    const revoked = { ...key, revokedAtMs };
    this.#keys.set(keySha256, revoked);
    return Promise.resolve({ kind: 'revoked', key: revoked });
  }

  noteKeyUse(keySha256: string, usedAtMs: number): Promise<void> {
    const key = this.#keys.get(keySha256);
    if (key && (key.lastUsedAtMs ?? 0) < usedAtMs) this.#keys.set(keySha256, { ...key, lastUsedAtMs: usedAtMs });
    return Promise.resolve();
  }

  putTicket(ticketSha256: string, ticket: { principal: Principal; expiresAtMs: number }): Promise<void> {
    this.#tickets.set(ticketSha256, structuredClone(ticket));
    return Promise.resolve();
  }

  useTicket(ticketSha256: string, nowMs: number): Promise<TicketUse> {
    const ticket = this.#tickets.get(ticketSha256);
    this.#tickets.delete(ticketSha256);
    if (ticket === undefined) return Promise.resolve({ kind: 'unknown' });
    if (nowMs >= ticket.expiresAtMs) return Promise.resolve({ kind: 'expired' });
    return Promise.resolve({ kind: 'admitted', principal: ticket.principal });
  }

  #hashOf(keyId: string): string | undefined {
    return [...this.#keys].find(([, key]) => key.id === keyId)?.[0];
  }
}
