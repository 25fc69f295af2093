import { setTimeout as timeout } from 'node:timers/promises';
import type { Clock, Deadlines, Waiting } from '../domain/ports.ts';

/** The real time. Tests give the domain one that they move themselves. */
export const systemClock: Clock = { now: () => Date.now() };

export const systemWaiting: Waiting & Deadlines = {
  wait: async (durationMs, signal) => {
    try {
      await timeout(Math.max(0, durationMs), undefined, { signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  },
  deadline: (durationMs) => AbortSignal.timeout(durationMs),
};
