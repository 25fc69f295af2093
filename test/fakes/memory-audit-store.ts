import type { AuditEntry, AuditStore } from '../../lambdas/domain/ports.ts';

/** The audit trail in memory. */
export class MemoryAuditStore implements AuditStore {
  readonly #entries = new Map<string, AuditEntry[]>();

  async add(subject: string, entry: AuditEntry): Promise<void> {
    const known = this.#entries.get(subject) ?? [];
    if (known.some((other) => JSON.stringify(other) === JSON.stringify(entry))) return;
    this.#entries.set(subject, [...known, entry]);
  }

  async read(subject: string): Promise<readonly AuditEntry[]> {
    return (this.#entries.get(subject) ?? []).toSorted((a, b) => a.at - b.at);
  }
}
