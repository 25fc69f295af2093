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
