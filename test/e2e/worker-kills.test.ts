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
  slowlane = await startSlowlane({ impatient: true, vendor: { sendTimeoutMs: 2_000 } });
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

    await studio.fault({ point: 'run', fault: 'ticks', perSecond: 4, seconds: 3 });
    const ids = await Promise.all(Array.from({ length: 8 }, (_, index) => submit(index % 2 ? 'stylize' : 'upscale')));
    await eventually('two run at the vendor', async () => (await studio.ledger()).inFlight === 2 || undefined);
    expect(await runtime.killWorkers()).toBeGreaterThan(0);

    const ended = await Promise.all(
      ids.map((id) =>
        api.until(id, 'ends or waits for a person', (job) => job.done || job.status === 'needs_attention', 200_000),
      ),
    );
    for (const job of ended) {
      const sold = await studio.acceptedFor(job.id);
      // A worker killed between its send and its note: only a person may say what became of it.
      if (job.status === 'needs_attention') expect([job.feature, sold.length <= 1]).toEqual(['stylize', true]);
      else expect([job.status, sold.length]).toEqual(['succeeded', 1]);
    }
    expect((await studio.ledger()).maxInFlight).toBeLessThanOrEqual(2);

    const expected = new Map<string, string>([
      [flagged, 'Job Needs Attention'],
      [refused, 'Job Failed'],
      [canceled, 'Job Canceled'],
      ...ended.map(({ id, status }): [string, string] => [
        id,
        status === 'succeeded' ? 'Job Succeeded' : 'Job Needs Attention',
      ]),
    ]);
    for (const [id, type] of expected) {
      const event = await eventually(`${type} of ${id}`, async () =>
        (await runtime.events()).find((one) => one.detail.jobId === id && one['detail-type'] === type),
      );
      expect(event).toMatchObject({ source: 'slowlane', detail: { id: expect.stringMatching(`^${id}\\.\\d+$`) } });
    }
  });
});
