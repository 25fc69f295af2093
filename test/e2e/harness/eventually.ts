import { setTimeout as pause } from 'node:timers/promises';

/** Longest wait for anything that is sure to come; generous, since a loaded machine is slow but not wrong. */
export const generousMs = 90_000;

/** Each question is a fifth later than the one before, up to ten times the first pause: what takes long may be seen late. */
const growth = 1.2;
const longestPauses = 10;

/**
 * Asks until there is an answer. @param what is waited for, as it reads in the failure.
 * @throws Error after the deadline, with what was seen last where `seen` tells it.
 */
export async function eventually<T>(
  what: string,
  read: () => Promise<T | undefined> | T | undefined,
  { withinMs = generousMs, everyMs = 50, seen }: { withinMs?: number; everyMs?: number; seen?: () => unknown } = {},
): Promise<T> {
  const giveUpAtMs = performance.now() + withinMs;
  for (let pauseMs = everyMs; ; pauseMs = Math.min(pauseMs * growth, everyMs * longestPauses)) {
    const value = await read();
    if (value !== undefined) return value;
    if (performance.now() > giveUpAtMs) {
      const last = seen === undefined ? '' : `\nLast seen: ${JSON.stringify(await seen())}`;
      throw new Error(`Not within ${withinMs / 1000} s: ${what}${last}`);
    }
    await pause(pauseMs);
  }
}
