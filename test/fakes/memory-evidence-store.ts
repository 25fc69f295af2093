import { mostEvidenceRead, type Evidence, type EvidenceStore } from '../../lambdas/domain/ports.ts';

/** Evidence in memory. */
export class MemoryEvidenceStore implements EvidenceStore {
  readonly #evidence = new Map<string, Evidence[]>();

  async add(jobId: string, evidence: Evidence): Promise<void> {
    const known = this.#evidence.get(jobId) ?? [];
    if (known.some((other) => JSON.stringify(other) === JSON.stringify(evidence))) return;
    this.#evidence.set(jobId, [...known, evidence]);
  }

  async read(jobId: string): Promise<readonly Evidence[]> {
    const known = this.#evidence.get(jobId) ?? [];
    return known.toSorted((a, b) => a.at - b.at).slice(0, mostEvidenceRead);
  }

  /** Returns how many went: what `MemoryJobStore.whenSiblingsAreErased` wants. */
  erase(jobId: string): number {
    const erased = this.#evidence.get(jobId)?.length ?? 0;
    this.#evidence.delete(jobId);
    return erased;
  }
}
