import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 120_000 });

let slowlane: Slowlane;
beforeAll(async () => {
  // A worker that has less than 20 s left hands over: this one watches for four.
  slowlane = await startSlowlane({ workerTimeoutSeconds: 24, reconcileEverySeconds: 3_600 });
});
afterAll(async () => {
  await slowlane.stop();
});

describe('a job that takes longer than its worker lives', () => {
  it('goes from hand to hand, is sent once, and never goes back', async () => {
    const { api, studio, runtime } = slowlane;
    await studio.fault({ point: 'run', fault: 'ticks', perSecond: 4, seconds: 15, times: 1 });
    await runtime.resetCalls();
    const { job } = await api.submit({ feature: 'stylize', picture: await drawPicture() });
    const follower = await slowlane.follow([job.id]);
    const done = await follower.hearDone(job.id);
    expect(done.job).toMatchObject({ status: 'succeeded', progress: { percent: 100 } });
    const calls = (await runtime.calls())[await runtime.workerName()] ?? {};
    // Each hand-over rings for the next worker, and so does the unit that is freed in the end.
    expect(calls['sqs.SendMessage']).toBeGreaterThanOrEqual(3);
    const percents = follower.messages.flatMap(({ message }) => (message.type === 'progress' ? [message.percent] : []));
    expect(percents.length).toBeGreaterThan(8);
    expect(percents).toEqual(percents.toSorted((a, b) => a - b));
    const ledger = await studio.ledger();
    expect([ledger.posts, ledger.accepted.length]).toEqual([1, 1]);
    follower.close();
  });
});
