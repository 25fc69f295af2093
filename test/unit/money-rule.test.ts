import { describe, expect, it } from 'vitest';
import type { Job } from '../../lambdas/domain/job.ts';
import {
  afterSend,
  afterUnknown,
  backOffMs,
  canReplay,
  cantBeRunningFrom,
  isSpent,
  mayRetake,
  quarantineEnd,
} from '../../lambdas/domain/money-rule.ts';
import { clockSkewMs, sendLeadMs } from '../../lambdas/domain/timing.ts';
import type { DedupeClass, SubmitOutcome, VendorTraits } from '../../lambdas/domain/vendor.ts';
import { submittedJob } from '../simulation/world/submitted-job.ts';

const t0 = Date.UTC(2026, 0, 1);
const now = t0 + 20_000;

const traits: VendorTraits = {
  dedupe: 'replay',
  dedupeMs: 600_000,
  absence: 'hint',
  listingLagMs: 7_000,
  maxLifeMs: 90_000,
  sendTimeoutMs: 4_000,
  maxSends: 3,
  sendWindowMs: 300_000,
};

const dedupeClasses: readonly DedupeClass[] = ['replay', 'reject', 'lookup', 'inflight', 'none'];

function dispatching(more: Partial<Job<'dispatching'>> = {}): Job<'dispatching'> {
  return {
    ...submittedJob('job_a', t0, { vendor: 'v', lane: 'pool', rank: 1 }),
    state: 'dispatching',
    hold: { token: 'token' },
    claimToken: 'claim',
    sendBy: t0 + 10_000,
    dispatchBy: t0 + 19_000,
    sends: 1,
    tries: 1,
    firstTriedAt: t0,
    ...more,
  };
}

const outcomes = {
  throttled: { kind: 'throttled', retryAfterMs: 9_000, message: 'Slower.' },
  notSent: { kind: 'not-sent', cause: 'connect', message: 'Refused.' },
  refused: { kind: 'refused', status: 422, message: 'Too dark.' },
  account: { kind: 'account-refused', status: 401, message: 'Bad key.' },
  unknown: { kind: 'unknown', cause: 'reset', message: 'Reset.', bodySent: true, keyReused: false },
} as const satisfies Record<string, SubmitOutcome>;

describe('the answer to the only send', () => {
  it('taken: accept, or finish where the answer is the picture', () => {
    expect(afterSend(dispatching(), { kind: 'accepted', vendorJobId: 'v-1' }, traits, now)).toEqual({
      do: 'accept',
      vendorJobId: 'v-1',
    });
    const result = { kind: 'url', url: 'https://v/1', contentType: undefined } as const;
    expect(afterSend(dispatching(), { kind: 'finished', vendorJobId: undefined, result }, traits, now)).toEqual({
      do: 'finish',
      vendorJobId: undefined,
      result,
    });
  });

  it('refused: the job ends, with the reason of the vendor', () => {
    expect(afterSend(dispatching(), outcomes.refused, traits, now)).toEqual({
      do: 'refuse',
      failure: { code: 'refused_by_vendor', message: 'Too dark.' },
    });
  });

  it('not taken: back to the queue, later; the account: the lane closes as well', () => {
    expect(afterSend(dispatching(), outcomes.throttled, traits, now)).toEqual({
      do: 'release',
      delayMs: 9_000,
      trip: undefined,
    });
    expect(afterSend(dispatching({ tries: 2 }), outcomes.notSent, traits, now)).toEqual({
      do: 'release',
      delayMs: 4_000,
      trip: undefined,
    });
    expect(afterSend(dispatching(), outcomes.account, traits, now)).toEqual({
      do: 'release',
      delayMs: 2_000,
      trip: 'Bad key.',
    });
  });

  it.each([
    [undefined, 1, 2_000],
    [0, 1, 2_000],
    [1_000, 6, 64_000],
    [90_000, 6, 90_000],
  ])('throttled for %s ms at try %i: after %i ms, as late as both the vendor and our own back-off say', (...row) => {
    const [retryAfterMs, tries, delayMs] = row;
    const traitsOfMany = { ...traits, maxSends: 40 };
    const throttled = { kind: 'throttled', retryAfterMs, message: 'Slower.' } as const;
    expect(afterSend(dispatching({ tries }), throttled, traitsOfMany, now)).toMatchObject({ do: 'release', delayMs });
  });

  it('not taken for the last time: failed, and nothing was charged', () => {
    const spent = afterSend(dispatching({ tries: 3 }), outcomes.throttled, traits, now);
    expect(spent).toMatchObject({ do: 'spend', failure: { code: 'sends_spent' } });
  });

  it('a bad key never spends the sends of a job: the fault is ours', () => {
    expect(afterSend(dispatching({ tries: 3 }), outcomes.account, traits, now)).toMatchObject({ do: 'release' });
  });

  it.each([
    ['replay', 'retake'],
    ['reject', 'look_up'],
    ['lookup', 'look_up'],
    ['inflight', 'flag'],
    ['none', 'flag'],
  ] as const)('unknown, where the vendor is %s: %s', (dedupe, next) => {
    expect(afterSend(dispatching(), outcomes.unknown, { ...traits, dedupe }, now)).toMatchObject({ do: next });
    expect(afterUnknown(dispatching(), { ...traits, dedupe }, now)).toMatchObject({ do: next });
  });
});

describe('once a send is unknown, a definite answer to the next one proves nothing of it', () => {
  const second = dispatching({ sends: 2, tries: 2, maybeSent: true });

  it.each([
    ['throttled', { do: 'keep', delayMs: 9_000, trip: undefined }],
    ['notSent', { do: 'keep', delayMs: 4_000, trip: undefined }],
    ['account', { do: 'keep', delayMs: 4_000, trip: 'Bad key.' }],
    ['refused', { do: 'flag', code: 'unknown_send' }],
  ] as const)('%s', (outcome, next) => {
    expect(afterSend(second, outcomes[outcome], traits, now)).toEqual(next);
  });

  it('a spent budget is a person to ask, never a failure', () => {
    const last = dispatching({ sends: 3, tries: 3, maybeSent: true });
    expect(afterSend(last, outcomes.throttled, traits, now)).toEqual({ do: 'flag', code: 'unknown_send' });
  });

  it('nothing leads back to the queue, to an end, or to a freed hold, whatever the vendor is', () => {
    for (const dedupe of dedupeClasses) {
      for (const outcome of Object.values(outcomes)) {
        const next = afterSend(second, outcome, { ...traits, dedupe }, now);
        expect(['keep', 'flag', 'retake', 'look_up']).toContain(next.do);
      }
    }
  });
});

describe('the same key again', () => {
  it('only where the vendor returns the original, and its owner still wants it', () => {
    expect(mayRetake(dispatching(), traits, now)).toBe(true);
    expect(mayRetake(dispatching({ cancelRequestedAt: now }), traits, now)).toBe(false);
    for (const dedupe of dedupeClasses.filter((other) => other !== 'replay')) {
      expect(mayRetake(dispatching(), { ...traits, dedupe }, now)).toBe(false);
    }
  });

  it('only while the vendor is sure to know it, even if the send starts and arrives as late as it may', () => {
    const last = t0 + traits.dedupeMs - sendLeadMs - traits.sendTimeoutMs - clockSkewMs;
    expect(canReplay(dispatching(), traits, last - 1)).toBe(true);
    expect(canReplay(dispatching(), traits, last)).toBe(false);
  });

  it('within its budget, in number and in time', () => {
    expect(isSpent(dispatching({ tries: 2 }), traits, now)).toBe(false);
    expect(isSpent(dispatching({ tries: 3 }), traits, now)).toBe(true);
    expect(isSpent(dispatching(), traits, t0 + traits.sendWindowMs - 1)).toBe(false);
    expect(isSpent(dispatching(), traits, t0 + traits.sendWindowMs)).toBe(true);
    expect(mayRetake(dispatching({ tries: 3 }), traits, now)).toBe(false);
  });

  it("beyond it by a person's order, which is worth one send", () => {
    const ordered = dispatching({ tries: 3, sendBy: now, dispatchBy: now });
    expect(mayRetake(ordered, traits, now)).toBe(true);
    expect(mayRetake(ordered, traits, t0 + traits.dedupeMs)).toBe(false);
  });
});

describe('times', () => {
  it("can't be running once its latest send, its travel and the vendor's longest life are over", () => {
    const from = t0 + 10_000 + traits.sendTimeoutMs + 90_000 + clockSkewMs;
    expect(cantBeRunningFrom(dispatching(), traits)).toBe(from);
    expect(cantBeRunningFrom(dispatching(), { ...traits, maxLifeMs: undefined })).toBeUndefined();
  });

  it('a look-up proves absence once the latest send, its travel and the listing lag are over', () => {
    const end = t0 + 10_000 + traits.sendTimeoutMs + traits.listingLagMs + clockSkewMs;
    expect(quarantineEnd(dispatching(), traits)).toBe(end);
  });

  it('backs off twice as long each time, up to two minutes', () => {
    expect([0, 1, 2, 3, 6, 7, 50].map(backOffMs)).toEqual([2_000, 2_000, 4_000, 8_000, 64_000, 120_000, 120_000]);
  });
});
