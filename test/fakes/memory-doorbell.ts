import type { Doorbell } from '../../lambdas/domain/ports.ts';

export interface HeardRing {
  readonly lane: string;
  readonly hint: string | undefined;
  readonly delayMs: number;
}

/** Keeps its rings, in order, until a test takes them. */
export class MemoryDoorbell implements Doorbell {
  #rings: HeardRing[] = [];

  get rings(): readonly HeardRing[] {
    return this.#rings;
  }

  async ring(lane: string, hint: string | undefined, delayMs = 0): Promise<void> {
    this.#rings.push({ lane, hint, delayMs });
  }

  /** The rings so far, which are gone from here then. */
  take(): readonly HeardRing[] {
    const taken = this.#rings;
    this.#rings = [];
    return taken;
  }
}
