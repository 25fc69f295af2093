import { describe, expect, it } from 'vitest';
import { reconcileJobs } from '../../lambdas/domain/reconcile-jobs.ts';
import { attach } from '../../lambdas/domain/watch-job.ts';
import { shardOf } from '../../lambdas/store/shard.ts';
import { succeeded, unreachable } from '../fakes/told-vendor.ts';
import { OperatorGateway } from '../fixtures/operator-gateway.ts';
import { noon } from '../fixtures/stored-job.ts';

it('a shard that can not be read costs no other shard its tick, nor the tick its report', async () => {
  const gateway = new OperatorGateway();
  const { index } = gateway;
  const due = index.due.bind(index);
  index.due = async (shard, ...query) => {
    if (shard !== shardOf('job_a')) throw new Error('Throttled.');
    // The others have failed by now.
    await gateway.clock.advance(1);
    return await due(shard, ...query);
  };
  gateway.put('running', { checkAt: noon + 60_000, watchUntil: noon });
  gateway.studio.words.set('vendor-job-1', succeeded);
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  const report = await reconcileJobs(gateway.world, ['default'], new Map(), shift);
  expect(gateway.jobs.get('job_a').state).toBe('succeeded');
  expect(report).toMatchObject({ looked: 1, flagged: { default: 0 } });
  expect(report.errors).toHaveLength(7);
});

it('a lane whose flagged jobs can not be counted has no count, rather than none', async () => {
  const gateway = new OperatorGateway();
  gateway.put('needs_attention', { lane: 'slow', checkAt: noon + 600_000, announce: undefined });
  const flagged = gateway.index.flagged.bind(gateway.index);
  gateway.index.flagged = async (lane, ...query) => {
    if (lane === 'default') throw new Error('Throttled.');
    return await flagged(lane, ...query);
  };
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  const report = await reconcileJobs(gateway.world, ['default', 'slow'], new Map(), shift);
  expect(report.flagged).toEqual({ slow: 1 });
  expect(report.errors).toHaveLength(1);
});

it('a lane that can not be read expires nothing: nobody knows how long it was closed', async () => {
  const gateway = new OperatorGateway();
  gateway.put('queued', { maxQueueMs: 30_000, checkAt: noon });
  gateway.lanes.put({ ...gateway.lanes.get('default'), closedMs: 3_600_000 });
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  gateway.lanes.read = () => Promise.reject(new Error('Throttled.'));
  expect((await reconcileJobs(gateway.world, ['default'], new Map(), shift)).errors).toHaveLength(1);
  expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'queued', checkAt: noon + 60_001 });
});

it('a cap that was raised by a deployment is filled by the next tick', async () => {
  const gateway = new OperatorGateway();
  const before = { ...gateway.lanes.get('default'), cap: 1, deployedCap: 1 };
  gateway.lanes.put({ ...before, held: { 'hold-x': { jobId: 'job_x', attempt: 1, acquiredAt: noon } } });
  gateway.put('queued');
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  await reconcileJobs(gateway.world, ['default'], new Map(), shift);
  expect(gateway.lanes.get('default')).toMatchObject({ cap: 2, deployedCap: 2 });
  expect(gateway.doorbell.rings).toContainEqual({ lane: 'default', hint: 'job_a', delayMs: 0 });
});

describe('more jobs than can be copied at once are found finished', () => {
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  const budgets = new Map([['studio', { concurrency: 32, perSecond: Number.POSITIVE_INFINITY }]]);
  const runningOnes = ['job_0', 'job_1', 'job_2', 'job_3', 'job_4', 'job_5'];

  /** Six that run and two that are parked; a download takes a while. */
  function finished() {
    const gateway = new OperatorGateway();
    const { studio } = gateway;
    for (let nth = 0; nth < 8; nth += 1) {
      const state = nth < 6 ? 'running' : 'needs_attention';
      const hold = { token: `token-${nth}` };
      gateway.put(state, { id: `job_${nth}`, vendorJobId: `v-${nth}`, hold, watchUntil: noon, checkAt: noon + nth });
      studio.words.set(`v-${nth}`, succeeded);
    }
    const copies = { now: 0, most: 0, made: 0 };
    const fetchResult = studio.fetchResult.bind(studio);
    studio.fetchResult = async () => {
      copies.now += 1;
      copies.made += 1;
      copies.most = Math.max(copies.most, copies.now);
      for (let turns = 0; turns < 50; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      copies.now -= 1;
      return await fetchResult();
    };
    return { gateway, copies };
  }

  const hintsOf = ({ doorbell }: OperatorGateway) => doorbell.rings.flatMap(({ hint }) => hint ?? []);
  const statesOf = ({ jobs }: OperatorGateway) => [...new Set(jobs.all().map(({ state }) => state))];

  it('copies few at once, and all in one tick although no worker hears a ring', async () => {
    const { gateway, copies } = finished();
    expect((await reconcileJobs(gateway.world, ['default'], budgets, shift)).errors).toEqual([]);
    expect(statesOf(gateway)).toEqual(['succeeded']);
    expect(copies).toEqual({ now: 0, most: 4, made: 8 });
    expect(hintsOf(gateway).length).toBeGreaterThan(0);
    expect(runningOnes).toEqual(expect.arrayContaining(hintsOf(gateway)));
  });

  it('leaves to a worker what it took up meanwhile', async () => {
    const { gateway, copies } = finished();
    const ring = gateway.doorbell.ring.bind(gateway.doorbell);
    gateway.doorbell.ring = async (lane, hint, delayMs) => {
      await ring(lane, hint, delayMs);
      const job = hint === undefined ? undefined : gateway.jobs.get(hint);
      if (job?.state === 'running') await attach(gateway.world, job);
    };
    expect((await reconcileJobs(gateway.world, ['default'], budgets, shift)).errors).toEqual([]);
    const taken = gateway.jobs.all().filter(({ state }) => state === 'running');
    expect(taken.length).toBeGreaterThan(0);
    expect(copies.made).toBe(8 - taken.length);
  });

  it('copies them although the bell can not be reached, and says so', async () => {
    const { gateway } = finished();
    gateway.doorbell.ring = () => Promise.reject(new Error('The bell does not answer.'));
    const { errors } = await reconcileJobs(gateway.world, ['default'], budgets, shift);
    expect(errors.length).toBeGreaterThan(0);
    expect(statesOf(gateway)).toEqual(['succeeded']);
  });

  it('keeps no picture in memory that has to wait: its job is asked again', async () => {
    const { gateway, copies } = finished();
    const bytes = { kind: 'bytes', bytes: new Uint8Array(1), contentType: 'image/png' } as const;
    for (let nth = 0; nth < 8; nth += 1) gateway.studio.words.set(`v-${nth}`, { kind: 'succeeded', result: bytes });
    await reconcileJobs(gateway.world, ['default'], budgets, shift);
    expect(copies.made).toBe(4);
    const left = gateway.jobs.all().filter(({ state }) => state === 'running');
    expect(hintsOf(gateway).toSorted()).toEqual(left.map(({ id }) => id).toSorted());
    await gateway.clock.advance(60_000);
    await reconcileJobs(gateway.world, ['default'], budgets, { ...shift, endsAt: gateway.clock.now() + 300_000 });
    expect(statesOf(gateway)).toEqual(['succeeded']);
  });

  it('begins no copy when its time is over', async () => {
    const { gateway, copies } = finished();
    const over = new AbortController();
    const ask = gateway.studio.ask.bind(gateway.studio);
    gateway.studio.ask = async (vendorJobId) => {
      if (vendorJobId === 'v-7') setImmediate(() => over.abort());
      return await ask(vendorJobId);
    };
    await reconcileJobs(gateway.world, ['default'], budgets, { ...shift, signal: over.signal });
    expect(copies.made).toBe(4);
    expect(gateway.jobs.all().filter(({ state }) => state !== 'succeeded')).toHaveLength(4);
  });
});

describe('what was tried with a parked job is evidence, each answer once', () => {
  const minuteMs = 60_000;

  async function tickEach(gateway: OperatorGateway, ticks: number): Promise<void> {
    for (let nth = 0; nth < ticks; nth += 1) {
      await gateway.clock.advance(minuteMs);
      const shift = { endsAt: gateway.clock.now() + 300_000, signal: new AbortController().signal };
      await reconcileJobs(gateway.world, ['default'], new Map(), shift);
    }
  }
  const seen = async ({ evidence }: OperatorGateway) =>
    (await evidence.read('job_a')).map(({ what, detail }) => [what, detail['said']]);

  it('asked by its vendor job', async () => {
    const gateway = new OperatorGateway();
    gateway.put('needs_attention', { vendorJobId: 'v-1', flag: { code: 'vendor_lost_job', since: noon } });
    await tickEach(gateway, 2);
    gateway.studio.words.set('v-1', unreachable);
    await tickEach(gateway, 2);
    expect(await seen(gateway)).toEqual([
      ['asked', 'gone'],
      ['asked', 'unreachable'],
    ]);
  });

  it('looked up by our key', async () => {
    const gateway = new OperatorGateway();
    Object.assign(gateway.studio, { find: async () => ({ kind: 'absent' }) });
    gateway.put('needs_attention');
    await tickEach(gateway, 3);
    expect(await seen(gateway)).toEqual([['looked_up', 'absent']]);
  });
});

describe('a job in flight without its unit of the lane', () => {
  const missing = ({ notices }: OperatorGateway) =>
    notices.flatMap((notice) => (notice.kind === 'hold_missing' ? [notice.job.id] : []));
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };

  function withoutItsUnit(state: 'dispatching' | 'running'): OperatorGateway {
    const gateway = new OperatorGateway();
    gateway.put(state, { checkAt: noon });
    gateway.lanes.put({ ...gateway.lanes.get('default'), held: {} });
    return gateway;
  }

  it.each(['dispatching', 'running'] as const)('is never legal, and wakes somebody: %s', async (state) => {
    const gateway = withoutItsUnit(state);
    await reconcileJobs(gateway.world, ['default'], new Map(), shift);
    expect(missing(gateway)).toEqual(['job_a']);
  });

  it('wakes nobody where it only went on between the two reads', async () => {
    const gateway = withoutItsUnit('running');
    const { lanes, jobs } = gateway;
    const read = lanes.read.bind(lanes);
    let reads = 0;
    lanes.read = async (name) => {
      reads += 1;
      // The tick's own read, then the one that makes sure.
      if (reads === 2) jobs.put({ ...jobs.get('job_a'), version: 99 });
      return await read(name);
    };
    await reconcileJobs(gateway.world, ['default'], new Map(), shift);
    expect(reads).toBe(2);
    expect(missing(gateway)).toEqual([]);
  });
});
