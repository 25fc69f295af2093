import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { expectStatus } from './harness/api.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 180_000 });

/** One interval of the schedule, as deployed. */
const intervalMs = 60_000;

let slowlane: Slowlane;
beforeAll(async () => {
  slowlane = await startSlowlane();
  expectStatus(await slowlane.operator.changeLane({ cap: 8 }), 200);
  await slowlane.studio.fault({ point: 'events', fault: 'silent' });
  await slowlane.studio.fault({ point: 'webhook', fault: 'silent' });
});
afterAll(async () => {
  await slowlane.stop();
});

describe('with every event, stream and webhook of the vendor lost', () => {
  it('each job reaches its true state within one interval of the vendor’s end', async () => {
    const { api, studio } = slowlane;
    const picture = await drawPicture();
    const submit = async (feature: 'upscale' | 'stylize') => (await api.submit({ feature, picture })).job.id;
    await studio.fault({ point: 'run', fault: 'fail', seconds: 2, error: 'No face found.', times: 1 });
    const failing = await submit('stylize');
    await api.until(failing, 'runs', ({ status }) => status === 'running');
    await studio.fault({ point: 'run', fault: 'ticks', perSecond: 2, seconds: 3_600, times: 1 });
    const canceled = await submit('upscale');
    await api.until(canceled, 'runs', ({ status }) => status === 'running');
    await studio.fault({ point: 'run', fault: 'ticks', perSecond: 2, seconds: 2 });
    const fine = await Promise.all([submit('stylize'), submit('upscale')]);
    await api.cancel(canceled);

    const expected = new Map([
      [failing, 'failed'],
      [canceled, 'canceled'],
      ...fine.map((id): [string, string] => [id, 'succeeded']),
    ]);
    await Promise.all(
      [...expected].map(async ([id, status]) => {
        const job = await api.done(id, 150_000);
        expect(job.status).toBe(status);
        const [sold, ...more] = await studio.acceptedFor(id);
        expect(more).toEqual([]);
        expect(sold?.status).toBe(status);
        const lateMs = Date.parse(job.finishedAt ?? '') - Date.parse(sold?.finishedAt ?? '');
        expect(lateMs).toBeLessThanOrEqual(intervalMs);
      }),
    );
    expect(await api.job(failing)).toMatchObject({ error: { code: 'failed_at_vendor' } });
  });
});
