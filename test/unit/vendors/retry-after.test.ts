import { describe, expect, it } from 'vitest';
import { longestRetryAfterMs, retryAfterMs } from '../../../lambdas/vendors/retry-after.ts';

const now = Date.UTC(2026, 10, 30, 12);

describe('retryAfterMs', () => {
  it.each([
    ['0', 0],
    ['3', 3_000],
    [' 3 ', 3_000],
    ['1.5', 1_500],
    ['86400', longestRetryAfterMs],
    ['999999999', longestRetryAfterMs],
    ['Mon, 30 Nov 2026 12:00:30 GMT', 30_000],
    ['Monday, 30-Nov-26 12:00:30 GMT', 30_000],
    ['Mon, 30 Nov 2026 11:59:00 GMT', 0],
    ['Tue, 30 Nov 2027 12:00:00 GMT', longestRetryAfterMs],
    ['-5', undefined],
    ['1e3', undefined],
    ['2027', 900_000],
    ['soon', undefined],
    ['Mon, never', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j is %s', (header, expected) => {
    expect(retryAfterMs(header, now)).toBe(expected);
  });
});
