import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { expectStatus } from './harness/api.ts';
import { eventually } from './harness/eventually.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 240_000 });

let slowlane: Slowlane;
let picture: Buffer<ArrayBuffer>;
beforeAll(async () => {
  picture = await drawPicture();
  slowlane = await startSlowlane({ impatient: true, vendor: { sendTimeoutMs: 10_000 } });
});
afterAll(async () => {
  await slowlane.stop();
});

describe('workers that are killed in mid-job', () => {
  it('lose nothing, buy nothing twice, leave the cap whole, and every end reaches the bus', async () => {
    const { api, operator, studio, runtime } = slowlane;
    const submit = async (feature: 'upscale' | 'stylize') => (await api.submit({ feature, picture })).job.id;

    // One that nobody can settle by itself: flagged, and announced once the flag stands.
    await studio.fault({ point: 'webhook', fault: 'silent', feature: 'stylize' });
    await studio.fault({ point: 'submit', fault: 'drop-after-accept', feature: 'stylize', times: 1 });
    const flagged = await submit('stylize');
    await api.flagged(flagged);
    // Refused by the vendor, and canceled by its owner before it was sent.
    await studio.fault({ point: 'submit', fault: 'status', status: 422, error: 'No.', feature: 'upscale', times: 1 });
    const refused = await submit('upscale');
    await api.done(refused);
    expectStatus(await operator.changeLane({ state: 'paused' }), 200);
    const canceled = await submit('upscale');
    expect(await api.cancel(canceled)).toMatchObject({ status: 'canceled', done: true });
    // The flagged one keeps its unit: two more may run.
    expectStatus(await operator.changeLane({ state: 'open', cap: 3 }), 200);
    await studio.restartCounters();

    await studio.fault({ point: 'run', fault: 'ticks', perSecond: 4, seconds: 3_600, times: 2 });
    await studio.fault({ point: 'run', fault: 'ticks', perSecond: 4, seconds: 3 });
    const ids = await Promise.all(Array.from({ length: 8 }, (_, index) => submit(index % 2 ? 'stylize' : 'upscale')));
    await studio.struck('run');
    // Noted, not only sent: a worker killed between its send and its note would leave a flag, and the flag a unit less.
    await eventually('two are known to run', async () => {
      const jobs = await Promise.all(ids.map((id) => api.job(id)));
      return jobs.filter(({ status }) => status === 'running').length === 2 || undefined;
    });
    expect(await runtime.killWorkers()).toBeGreaterThan(0);
    await studio.hurry();

    const ended = await Promise.all(ids.map((id) => api.done(id, 200_000)));
    for (const { id, status } of ended) {
      expect([status, (await studio.acceptedFor(id)).length]).toEqual(['succeeded', 1]);
    }
    expect((await studio.ledger()).maxInFlight).toBeLessThanOrEqual(2);

    const expected = new Map<string, string>([
      [flagged, 'Job Needs Attention'],
      [refused, 'Job Failed'],
      [canceled, 'Job Canceled'],
      ...ended.map(({ id }): [string, string] => [id, 'Job Succeeded']),
    ]);
    for (const [id, type] of expected) {
      const event = await eventually(`${type} of ${id}`, async () =>
        (await runtime.events()).find((one) => one.detail.jobId === id && one['detail-type'] === type),
      );
      expect(event).toMatchObject({ source: 'slowlane', detail: { id: expect.stringMatching(`^${id}\\.\\d+$`) } });
    }
  });
});
