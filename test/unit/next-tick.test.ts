import { expect, it } from 'vitest';
import { reconcileJobs } from '../../lambdas/domain/reconcile-jobs.ts';
import { tickMs } from '../../lambdas/domain/timing.ts';
import { pending } from '../fakes/told-vendor.ts';
import { OperatorGateway } from '../fixtures/operator-gateway.ts';

/** The schedule ticks at whatever second of the minute it likes. */
const seconds = [0, 1, 20, 55];

/** A gateway whose schedule ticks at this second of each minute, the first time now. */
async function ticking(second: number) {
  const gateway = new OperatorGateway();
  await gateway.clock.advance(second * 1_000);
  let tickAt = gateway.clock.now();
  const tick = async () => {
    await gateway.clock.advance(tickAt - gateway.clock.now());
    tickAt += tickMs;
    const shift = { endsAt: tickAt, signal: new AbortController().signal };
    expect((await reconcileJobs(gateway.world, ['default'], new Map(), shift)).errors).toEqual([]);
  };
  return { gateway, tick };
}

it.each(seconds)('at second %i: a lost send is found by the first tick after its deadline', async (second) => {
  const { gateway, tick } = await ticking(second);
  gateway.studio.traits = { ...gateway.studio.traits, dedupe: 'none', dedupeMs: 0 };
  const now = gateway.clock.now();
  gateway.put('dispatching', { checkAt: now, sendBy: now + 10_000, dispatchBy: now + 45_000 });
  await tick();
  expect(gateway.jobs.get('job_a').state).toBe('dispatching');
  await tick();
  expect(gateway.jobs.get('job_a').state).toBe('needs_attention');
});

it.each(seconds)('at second %i: a job that a tick came to late is asked for by the very next one', async (second) => {
  const { gateway, tick } = await ticking(second);
  const askedAt: number[] = [];
  gateway.studio.ask = async () => {
    askedAt.push(gateway.clock.now());
    // So much of the tick is over before it is written down that it was looked at.
    await gateway.clock.advance(10_000);
    return pending;
  };
  const now = gateway.clock.now();
  gateway.put('running', { checkAt: now, watchUntil: now - 1, runUntil: now + 600_000 });
  for (let nth = 0; nth < 3; nth += 1) await tick();
  expect(askedAt).toEqual([now, now + tickMs, now + 2 * tickMs]);
});
