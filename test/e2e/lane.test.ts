import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { expectStatus, problemOf } from './harness/api.ts';
import { eventually } from './harness/eventually.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 120_000 });

let slowlane: Slowlane;
let picture: Buffer<ArrayBuffer>;
beforeAll(async () => {
  picture = await drawPicture();
  slowlane = await startSlowlane({
    impatient: true,
    // What a ring should have done is not done by a tick.
    reconcileEverySeconds: 3_600,
    vendor: { sendTimeoutMs: 10_000 },
    limits: { submitsPerMinute: 1_000 },
  });
});
afterAll(async () => {
  await slowlane.stop();
});
beforeEach(async () => {
  await slowlane.studio.clearFaults();
  await slowlane.studio.restartCounters();
  expectStatus(await slowlane.operator.changeLane({ cap: 2, state: 'open' }), 200);
});

async function submitMany(count: number, feature: 'stylize' | 'upscale' = 'stylize'): Promise<string[]> {
  const submitted = await Promise.all(Array.from({ length: count }, () => slowlane.api.submit({ feature, picture })));
  return submitted.map(({ job }) => job.id);
}

async function allSucceed(ids: readonly string[]): Promise<void> {
  const jobs = await Promise.all(ids.map((id) => slowlane.api.done(id)));
  expect(jobs.map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'));
}

/** Jobs that run until the faults are cleared. */
async function jobsWithoutEnd(): Promise<void> {
  await slowlane.studio.fault({ point: 'run', fault: 'ticks', perSecond: 4, seconds: 3_600 });
}

/** The first two jobs run until the vendor is hurried, so that both surely run at one time; the others are short. */
async function twoAtOnce(): Promise<void> {
  const { studio } = slowlane;
  await studio.fault({ point: 'run', fault: 'ticks', perSecond: 4, seconds: 3_600, times: 2 });
  await studio.fault({ point: 'run', fault: 'ticks', perSecond: 5, seconds: 0.5 });
}

async function hurryBoth(): Promise<void> {
  await slowlane.studio.struck('run');
  await inFlight(2);
  await slowlane.studio.hurry();
}

const inFlight = async (wanted: number) =>
  await eventually(`${wanted} jobs in flight`, async () => {
    const ledger = await slowlane.studio.ledger();
    return ledger.inFlight === wanted ? ledger : undefined;
  });

describe('the cap of a lane', () => {
  it('is what the vendor runs for us, and is used', async () => {
    const { studio } = slowlane;
    await twoAtOnce();
    const ids = await submitMany(10);
    await hurryBoth();
    await allSucceed(ids);
    const ledger = await studio.ledger();
    expect(ledger.maxInFlight).toBe(2);
    for (const id of ids) expect(ledger.accepted.filter(({ key }) => key === `${id}.1`)).toHaveLength(1);
  });

  it('holds while answers are lost and jobs are sent again', async () => {
    const { studio } = slowlane;
    await twoAtOnce();
    await studio.fault({ point: 'submit', fault: 'drop-after-accept', times: 3, feature: 'upscale' });
    const ids = await submitMany(6, 'upscale');
    await hurryBoth();
    await allSucceed(ids);
    const ledger = await studio.ledger();
    expect(ledger.maxInFlight).toBe(2);
    for (const id of ids) expect(ledger.accepted.filter(({ key }) => key === `${id}.1`)).toHaveLength(1);
  });

  it('lets nothing in when it is lowered until there is room, and fills at once when it is raised', async () => {
    const { operator, studio, runtime } = slowlane;
    await jobsWithoutEnd();
    const ids = await submitMany(6);
    await inFlight(2);
    expectStatus(await operator.changeLane({ cap: 1 }), 200);
    for (let tick = 0; tick < 3; tick += 1) await runtime.reconcile();
    expect(await operator.lane()).toMatchObject({ cap: 1, inFlight: 2, queued: 4 });

    // One of two ends: one is left, and nothing new begins.
    const [first] = (await studio.ledger()).accepted.filter(({ status }) => status === 'running');
    const ended = ids.find((id) => first?.key === `${id}.1`) ?? '';
    await slowlane.api.cancel(ended);
    expect(await slowlane.api.done(ended)).toMatchObject({ status: 'canceled' });
    for (let tick = 0; tick < 3; tick += 1) await runtime.reconcile();
    expect(await operator.lane()).toMatchObject({ inFlight: 1, queued: 4 });
    expect((await studio.ledger()).inFlight).toBe(1);

    // By the rings of the change itself: there is no tick.
    expectStatus(await operator.changeLane({ cap: 5 }), 200);
    expect((await inFlight(5)).maxInFlight).toBe(5);
    await studio.clearFaults();
    await allSucceed(ids.filter((id) => id !== ended));
  });

  it('can not be raised above what is deployed', async () => {
    const { operator } = slowlane;
    const { ceiling } = await operator.lane();
    expect(problemOf(await operator.changeLane({ cap: ceiling + 1 }))).toMatchObject({
      status: 422,
      code: 'cap_above_ceiling',
    });
    expect(await operator.lane()).toMatchObject({ cap: 2, state: 'open' });
  });

  it('is nobody’s but an operator’s', async () => {
    expect(problemOf(await slowlane.api.changeLane({ cap: 1 }))).toMatchObject({ status: 403, code: 'forbidden' });
    expect((await slowlane.operator.lane()).cap).toBe(2);
  });
});

describe('a paused lane', () => {
  it('sends nothing, loses nothing, and goes on when it is opened', async () => {
    const { operator, studio, runtime } = slowlane;
    expectStatus(await operator.changeLane({ state: 'paused' }), 200);
    const ids = await submitMany(5);
    for (let tick = 0; tick < 3; tick += 1) await runtime.reconcile();
    expect(await operator.lane()).toMatchObject({ state: 'paused', inFlight: 0, queued: 5 });
    expect((await studio.ledger()).posts).toBe(0);
    const waiting = await Promise.all(ids.map((id) => slowlane.api.job(id)));
    // Waiting costs no attempt: nobody touched them.
    expect(waiting.map(({ status, version }) => [status, version])).toEqual(ids.map(() => ['queued', 1]));
    expectStatus(await operator.changeLane({ state: 'open' }), 200);
    await allSucceed(ids);
    expect((await studio.ledger()).posts).toBe(5);
  });
});
