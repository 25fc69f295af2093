import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { VendorPace } from '../../lambdas/domain/vendor-pace.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

it('asks a vendor no longer than its own budget, and the others as long as the tick lasts', async () => {
  const clock = new ManualClock(0);
  const budgets = new Map([['slow', { concurrency: 1, perSecond: 1, budgetMs: 2_500 }]]);
  const pace = new VendorPace(clock, clock, budgets, 47_000, new AbortController().signal);
  const asked: string[] = [];
  const ask = (vendor: string) => pace.run(vendor, async () => void asked.push(`${vendor} at ${clock.now()}`));
  const slow = Promise.all(Array.from({ length: 5 }, () => ask('slow')));
  await turn();
  await clock.advance(10_000);
  await slow;
  await ask('other');
  expect(asked).toEqual(['slow at 0', 'slow at 1000', 'slow at 2000', 'other at 10000']);
});

/** What a vendor that is asked answers, when the test lets it. */
function slowVendor() {
  const answers: (() => void)[] = [];
  let asking = 0;
  let most = 0;
  return {
    get most() {
      return most;
    },
    get asked() {
      return answers.length;
    },
    answer: (nth: number) => answers[nth]?.(),
    ask: async () => {
      asking += 1;
      most = Math.max(most, asking);
      await new Promise<void>((resolve) => answers.push(resolve));
      asking -= 1;
      return 'answered';
    },
  };
}

const eager = { concurrency: 2, perSecond: 1_000_000 };

it('has no more questions under way than it may, even as one leaves and another comes', async () => {
  const clock = new ManualClock(0);
  const pace = new VendorPace(clock, clock, new Map([['v', eager]]), 60_000, new AbortController().signal);
  const vendor = slowVendor();
  const asks = Array.from({ length: 4 }, () => pace.run('v', vendor.ask));
  await clock.advance(1);
  expect(vendor.asked).toBe(2);
  vendor.answer(0);
  // In the very moment in which the first one leaves.
  const leaving = asks[0]?.then(() => pace.run('v', vendor.ask));
  for (let nth = 1; nth < 5; nth += 1) {
    await clock.advance(1);
    vendor.answer(nth);
  }
  await clock.advance(1);
  expect(await Promise.all([...asks, leaving])).toEqual(Array.from({ length: 5 }, () => 'answered'));
  expect(vendor.most).toBe(2);
});

it('a vendor that never answers fills its own line and no other', async () => {
  const clock = new ManualClock(0);
  const budgets = new Map([
    ['black hole', eager],
    ['other', eager],
  ]);
  const pace = new VendorPace(clock, clock, budgets, 60_000, new AbortController().signal);
  const silent = slowVendor();
  for (let nth = 0; nth < 50; nth += 1) void pace.run('black hole', silent.ask);
  await clock.advance(1);
  expect(silent.asked).toBe(2);
  expect(await pace.run('other', async () => 'answered')).toBe('answered');
});

it('asks nothing after its end, or after it was told to stop', async () => {
  const clock = new ManualClock(0);
  const stop = new AbortController();
  const pace = new VendorPace(clock, clock, new Map([['v', eager]]), 5_000, stop.signal);
  stop.abort();
  expect(await pace.run('v', async () => 'answered')).toBeUndefined();
  const over = new VendorPace(clock, clock, new Map([['v', eager]]), 5_000, new AbortController().signal);
  await clock.advance(5_000);
  expect(await over.run('v', async () => 'answered')).toBeUndefined();
});

it('goes on after a question that threw', async () => {
  const clock = new ManualClock(0);
  const one = new Map([['v', { ...eager, concurrency: 1 }]]);
  const pace = new VendorPace(clock, clock, one, 5_000, new AbortController().signal);
  const broken = pace.run('v', async () => {
    throw new Error('broken');
  });
  await expect(broken).rejects.toThrow('broken');
  await clock.advance(1);
  expect(await pace.run('v', async () => 'answered')).toBe('answered');
});
