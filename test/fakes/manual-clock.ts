import type { Clock, Deadlines, Waiting } from '../../lambdas/domain/ports.ts';

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/** Time that only a test moves. Who waits on it wakes in the order of their deadlines. */
export class ManualClock implements Clock, Waiting, Deadlines {
  #now: number;
  #sleepers: Sleeper[] = [];

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  /** How many waits are open. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  async wait(durationMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || durationMs <= 0) return;
    await new Promise<void>((wake) => {
      const sleeper = { until: this.#now + durationMs, wake };
      this.#sleepers.push(sleeper);
      signal.addEventListener('abort', () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        wake();
      });
    });
  }

  deadline(durationMs: number): AbortSignal {
    const over = new AbortController();
    this.#sleepers.push({ until: this.#now + durationMs, wake: () => over.abort() });
    return over.signal;
  }

  /** Moves to a moment, never back, waking who waited for one on the way. */
  async advanceTo(moment: number): Promise<void> {
    for (;;) {
      const next = this.#sleepers.toSorted((a, b) => a.until - b.until)[0];
      if (next === undefined || next.until > moment) break;
      this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== next);
      this.#now = Math.max(this.#now, next.until);
      next.wake();
      await settled();
    }
    this.#now = Math.max(this.#now, moment);
  }

  async advance(durationMs: number): Promise<void> {
    await this.advanceTo(this.#now + durationMs);
  }
}

/** One turn of the event loop: every promise that could go on has gone on. */
async function settled(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}
