import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { JobBody } from '../../lambdas/http/job-body.ts';
import type { Follower } from './harness/follower.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

const runSeconds = 10;

vi.setConfig({ testTimeout: 120_000 });

let slowlane: Slowlane;
beforeAll(async () => {
  slowlane = await startSlowlane({ reconcileEverySeconds: 3_600 });
  // The workers' first start is not what is measured.
  await run(5, 1, 1);
});
afterAll(async () => {
  await slowlane.stop();
});

interface Run {
  readonly job: JobBody;
  /** What the worker asked of AWS, posts to sockets left out. */
  readonly workerCalls: number;
  readonly posts: number;
  readonly storedProgress: number;
  /** From before the submit to after the end. */
  readonly tookSeconds: number;
  readonly followers: readonly Follower[];
}

/** One job whose vendor reports so often; followed by so many. */
async function run(perSecond: number, followers: number, seconds = runSeconds): Promise<Run> {
  const { api, studio, runtime } = slowlane;
  await studio.fault({ point: 'run', fault: 'ticks', perSecond, seconds, feature: 'stylize', times: 1 });
  // Open before there is a job: how long it takes to connect is not measured.
  const connect = async () => await slowlane.connect(await api.socketUrl());
  const sockets = await Promise.all(Array.from({ length: followers }, connect));
  await runtime.resetCalls();
  const startedAtMs = performance.now();
  const { job } = await api.submit({ feature: 'stylize', picture: await drawPicture(perSecond) });
  for (const socket of sockets) socket.follow(job.id);
  await api.until(job.id, 'is done', ({ done }) => done);
  await Promise.all(sockets.map((socket) => socket.hearDone(job.id)));
  const tookSeconds = (performance.now() - startedAtMs) / 1_000;
  const calls = (await runtime.calls())[await runtime.workerName()] ?? {};
  const posts = calls['execute-api.PostToConnection'] ?? 0;
  const workerCalls = Object.values(calls).reduce((sum, count) => sum + count, 0) - posts;
  const done = await api.job(job.id);
  // Every transition raises the version: claim, accept and complete; the rest is stored progress.
  return { job: done, workerCalls, posts, storedProgress: done.version - 4, tookSeconds, followers: sockets };
}

describe('progress at twenty ticks a second', () => {
  it('is stored once a second, shown a few times a second, and costs what five ticks cost', async () => {
    const fast = await run(20, 2);
    expect(fast.job.status).toBe('succeeded');
    expect(fast.storedProgress).toBeLessThanOrEqual(fast.tookSeconds + 2);
    expect(fast.storedProgress).toBeGreaterThanOrEqual(2);
    expect(fast.job.progress).toMatchObject({ percent: 100 });

    for (const follower of fast.followers) {
      const live = follower.messages.filter(({ message }) => message.type === 'progress');
      // The first at once, the others a quarter of a second apart. A loaded machine is slower than that.
      expect(live.length).toBeLessThanOrEqual(4 * fast.tookSeconds + 2);
      expect(live.length).toBeGreaterThanOrEqual(3);
      const percents = follower.shownPercents(fast.job.id);
      expect(percents).toEqual(percents.toSorted((a, b) => a - b));
      expect(follower.messages.at(-1)?.message).toMatchObject({ type: 'job', job: { done: true } });
    }

    const slow = await run(5, 2);
    expect(slow.job.status).toBe('succeeded');
    // Four times the ticks are 150 more; a ring that found nothing, or a secret that was read again, is a few.
    expect(Math.abs(fast.workerCalls - slow.workerCalls)).toBeLessThanOrEqual(25);
    for (const follower of [...fast.followers, ...slow.followers]) follower.close();
  });

  it('goes on for the others when a follower is gone, and for one that comes back', async () => {
    const { api, studio } = slowlane;
    // It runs until all of them have come and gone.
    await studio.fault({ point: 'run', fault: 'ticks', perSecond: 20, seconds: 120, feature: 'stylize', times: 1 });
    const { job } = await api.submit({ feature: 'stylize', picture: await drawPicture(99) });
    const [staying, leaving] = await Promise.all([slowlane.follow([job.id]), slowlane.follow([job.id])]);
    await leaving.hear('a live value', (message) => (message.type === 'progress' ? message : undefined));
    leaving.close();
    const seen = leaving.messages.at(-1)?.message;
    const back = await slowlane.follow([job.id]);
    const snapshot = await back.hear('a snapshot', (message) => (message.type === 'job' ? message : undefined));
    const before = seen?.type === 'progress' ? seen.version : 0;
    expect(snapshot.job.version).toBeGreaterThanOrEqual(before);
    await studio.hurry();
    await Promise.all([staying.hearDone(job.id), back.hearDone(job.id)]);
    // Pong answers at any time, and an unreadable message closes nothing.
    staying.say({ action: 'ping' });
    await staying.hear('pong', (message) => (message.type === 'pong' ? message : undefined));
    staying.say({ action: 'nonsense' });
    await staying.hear('a problem', (message) => (message.type === 'problem' ? message : undefined));
    staying.close();
    back.close();
  });
});
