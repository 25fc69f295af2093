import { describe, expect, it } from 'vitest';
import { closedMsUntil, freeUnits, hasRoom, nextRank, type Lane } from '../../lambdas/domain/lane.ts';

const lane: Lane = {
  lane: 'pool',
  cap: 2,
  deployedCap: 2,
  state: 'open',
  by: 'deployment',
  reason: '',
  since: 1_000,
  notBefore: 0,
  held: {},
  virtualTime: 0,
  closedMs: 300,
};
const unit = { jobId: 'job_a', attempt: 1, acquiredAt: 0 };

describe('room', () => {
  it('is what the cap leaves, and never less than none after it was lowered', () => {
    expect(freeUnits(lane)).toBe(2);
    expect(freeUnits({ ...lane, held: { a: unit } })).toBe(1);
    expect(freeUnits({ ...lane, cap: 1, held: { a: unit, b: unit } })).toBe(0);
  });

  it('is there in an open lane, and for a probe in a tripped one, when the wait is over', () => {
    expect(hasRoom(lane, 0)).toBe(true);
    expect(hasRoom({ ...lane, state: 'tripped' }, 0)).toBe(true);
    expect(hasRoom({ ...lane, state: 'paused' }, 0)).toBe(false);
    expect(hasRoom({ ...lane, notBefore: 10 }, 9)).toBe(false);
    expect(hasRoom({ ...lane, notBefore: 10 }, 10)).toBe(true);
    expect(hasRoom({ ...lane, held: { a: unit, b: unit } }, 0)).toBe(false);
  });
});

it('counts this stay as closed only where it is closed, and never backwards', () => {
  expect(closedMsUntil(lane, 5_000)).toBe(300);
  expect(closedMsUntil({ ...lane, state: 'paused' }, 5_000)).toBe(4_300);
  expect(closedMsUntil({ ...lane, state: 'tripped' }, 500)).toBe(300);
});

it("a burst of one owner delays another owner's first job by about one job", () => {
  let last: number | undefined;
  const burst = Array.from({ length: 1_000 }, () => (last = nextRank(0, last)));
  expect(burst.at(-1)).toBe(1_000);
  const other = nextRank(3, undefined);
  expect(burst.filter((rank) => rank < other)).toHaveLength(3);
  expect(nextRank(500, other)).toBe(501);
});
