import type { Clock } from '../domain/ports.ts';
import type { Shift } from '../domain/watch-job.ts';

/** Requests are aborted this long before Lambda kills the sandbox, so that none is left half-written in a frozen one. */
const abortBeforeEndMs = 3_000;

/**
 * Runs one invocation's work within its time. Whatever is still under way when the work returns, or when the time is
 * nearly over, is aborted.
 */
export async function withinShift<T>(
  clock: Clock,
  remainingMs: number,
  work: (shift: Shift) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), Math.max(0, remainingMs - abortBeforeEndMs));
  try {
    return await work({ endsAt: clock.now() + remainingMs, signal: controller.signal });
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}
