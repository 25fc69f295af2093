import { setTimeout as sleep } from 'node:timers/promises';

/** Waits, unless the signal aborts first or already has. */
export async function pause(ms: number, signal: AbortSignal): Promise<'elapsed' | 'aborted'> {
  try {
    await sleep(ms, undefined, { signal });
    return 'elapsed';
  } catch (error) {
    if (signal.aborted) return 'aborted';
    throw error;
  }
}
