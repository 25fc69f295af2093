import { setTimeout as wait } from 'node:timers/promises';

/** Where time comes from outside the domain. Tests give one that they move themselves. */
export interface SystemClock {
  /** Milliseconds since 1970. */
  nowMs(): number;
  /** Resolves after so many milliseconds, or rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: SystemClock = {
  nowMs: () => Date.now(),
  sleep: (ms, signal) => wait(Math.max(0, ms), undefined, signal ? { signal } : undefined),
};
