import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Progress } from '../../lambdas/domain/job.ts';
import {
  advanceProgress,
  sendEveryMs,
  storeEveryMs,
  throttle,
  untouched,
  type Throttle,
} from '../../lambdas/domain/progress-throttle.ts';

const at = (percent: number, ms: number, stage?: string): Progress => ({
  percent,
  stage,
  at: ms,
});

describe('a tick becomes progress', () => {
  it('never goes down, and only the end is 100', () => {
    expect(advanceProgress(undefined, { percent: 12.9, stage: 'tile 1' }, 5)).toEqual(at(12, 5, 'tile 1'));
    expect(advanceProgress(at(40, 0), { percent: 30, stage: undefined }, 5)).toEqual(at(40, 5));
    expect(advanceProgress(at(40, 0), { percent: 140, stage: undefined }, 5)).toEqual(at(99, 5));
    expect(advanceProgress(undefined, { percent: -3, stage: undefined }, 5)).toEqual(at(0, 5));
  });

  it('keeps what it knew where the vendor says nothing, or nonsense', () => {
    expect(advanceProgress(at(40, 0, 'tile 4'), { percent: undefined, stage: undefined }, 5)).toEqual(
      at(40, 5, 'tile 4'),
    );
    expect(advanceProgress(at(40, 0), { percent: Number.NaN, stage: undefined }, 5)).toEqual(at(40, 5));
  });

  it('has a short stage: the stored item is billed as a whole', () => {
    const { stage } = advanceProgress(undefined, { percent: 1, stage: 'x'.repeat(500) }, 0);
    expect(stage?.length).toBeLessThanOrEqual(40);
  });
});

describe('the throttle', () => {
  it('stores and sends the first one at once', () => {
    expect(throttle(untouched, at(1, 0))).toMatchObject({ store: true, send: true });
  });

  it('then sends at most four a second and stores at most one', () => {
    const first = throttle(untouched, at(1, 0)).next;
    expect(throttle(first, at(2, sendEveryMs - 1))).toMatchObject({ store: false, send: false });
    expect(throttle(first, at(2, sendEveryMs))).toMatchObject({ store: false, send: true });
    expect(throttle(first, at(2, storeEveryMs))).toMatchObject({ store: true, send: true });
  });

  it('does nothing about a value that is no news', () => {
    const first = throttle(untouched, at(1, 0)).next;
    expect(throttle(first, at(1, 60_000))).toMatchObject({ store: false, send: false });
    expect(throttle(first, at(1, 60_000, 'another stage'))).toMatchObject({ store: true, send: true });
  });

  it('stores no more than the seconds and two, whatever a vendor says how often', () => {
    const ticks = fc.array(fc.record({ afterMs: fc.nat(700), percent: fc.integer({ min: -20, max: 130 }) }), {
      maxLength: 300,
    });
    fc.assert(
      fc.property(ticks, (said) => {
        let state: Throttle = untouched;
        let now = 0;
        let stored = 0;
        for (const { afterMs, percent } of said) {
          now += afterMs;
          const progress = advanceProgress(state.sent, { percent, stage: undefined }, now);
          const { store, next } = throttle(state, progress);
          state = next;
          stored += store ? 1 : 0;
        }
        expect(stored).toBeLessThanOrEqual(now / 1_000 + 2);
      }),
      { seed: 1, numRuns: 300 },
    );
  });
});
