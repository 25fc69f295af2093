import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from './harness/eventually.ts';
import type { Follower } from './harness/follower.ts';
import { watchLeaseMs } from './harness/impatient-timing.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 120_000 });

let slowlane: Slowlane;
let follower: Follower;
beforeAll(async () => {
  // A worker that has less than 20 s left hands over: this one watches for four.
  slowlane = await startSlowlane({ impatient: true, workerTimeoutSeconds: 24, reconcileEverySeconds: 1 });
  // Open before there is a job: its own start must not be what a follower misses.
  follower = await slowlane.connect(await slowlane.api.socketUrl());
  follower.say({ action: 'ping' });
  await follower.hear('pong', (message) => (message.type === 'pong' ? message : undefined));
});
afterAll(async () => {
  follower.close();
  await slowlane.stop();
});

/** Waits for so many live values of the job, those that came before a time left out. */
async function hearLive(id: string, count: number, sinceMs = 0): Promise<void> {
  await eventually(`${count} live values`, () => {
    const heard = liveOf(id).filter(({ atMs }) => atMs > sinceMs);
    return heard.length >= count || undefined;
  });
}

const liveOf = (id: string) =>
  follower.messages.flatMap(({ message, atMs }) =>
    message.type === 'progress' && message.jobId === id ? [{ percent: message.percent, atMs }] : [],
  );

async function soldOnce(id: string): Promise<void> {
  const { accepted, posts } = await slowlane.studio.ledger();
  expect([posts, accepted.map(({ key }) => key)]).toEqual([1, [`${id}.1`]]);
}

/** The only job of the lane, followed from its start; it runs until the vendor is hurried. @returns its id. */
async function runningJob(): Promise<string> {
  const { api, studio, runtime } = slowlane;
  await studio.reset();
  await studio.fault({ point: 'run', fault: 'ticks', perSecond: 4, seconds: 120, times: 1 });
  await runtime.resetCalls();
  const { job } = await api.submit({ feature: 'stylize', picture: await drawPicture() });
  follower.follow(job.id);
  return job.id;
}

describe('a job that takes longer than its worker lives', () => {
  it('goes from hand to hand, is sent once, and never goes back', async () => {
    const { runtime, studio } = slowlane;
    const id = await runningJob();
    // While it holds its unit only a hand-over rings, for the next worker.
    await eventually('it is handed over twice', async () => {
      const calls = (await runtime.calls())[await runtime.workerName()] ?? {};
      return (calls['sqs.SendMessage'] ?? 0) >= 2 || undefined;
    });
    await hearLive(id, 2, performance.now());
    await studio.hurry();
    const done = await follower.hearDone(id);
    expect(done.job).toMatchObject({ status: 'succeeded', progress: { percent: 100 } });
    const percents = follower.shownPercents(id);
    expect(percents).toEqual(percents.toSorted((a, b) => a - b));
    await soldOnce(id);
  });
});

describe('a job whose worker is killed while it watches', () => {
  it('is taken up by another one, which buys nothing', async () => {
    const { runtime, studio } = slowlane;
    const id = await runningJob();
    await hearLive(id, 1);
    // Between two hands none runs for a moment.
    await runtime.killNextWorker();
    const killedAtMs = performance.now();
    // Live values come from workers only. One may still have been on its way when the first died.
    await hearLive(id, 2, killedAtMs + watchLeaseMs / 4);
    await studio.hurry();
    const done = await follower.hearDone(id);
    expect(done.job).toMatchObject({ status: 'succeeded', progress: { percent: 100 } });
    const percents = follower.shownPercents(id);
    expect(percents).toEqual(percents.toSorted((a, b) => a - b));
    await soldOnce(id);
  });
});
