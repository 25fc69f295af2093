import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { JobBody } from '../../lambdas/http/job-body.ts';
import { expectStatus } from './harness/api.ts';
import { tickMs, watchLeaseMs } from './harness/impatient-timing.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';
import type { VendorJob } from './harness/studio.ts';

vi.setConfig({ testTimeout: 120_000 });

/** A tick's own work, on a loaded machine: it asks, copies the picture and writes. */
const tickTakesMs = 4_000;

let slowlane: Slowlane;
let picture: Buffer<ArrayBuffer>;
beforeAll(async () => {
  picture = await drawPicture();
  slowlane = await startSlowlane({
    impatient: true,
    reconcileEverySeconds: tickMs / 1_000,
    vendor: { options: { askTimeoutMs: 1_000 } },
  });
  expectStatus(await slowlane.operator.changeLane({ cap: 8 }), 200);
});
afterAll(async () => {
  await slowlane.stop();
});

type End = 'succeeded' | 'failed' | 'canceled';

/** Six jobs that run at a vendor which tells nothing by itself, and how each will end there; two only once it is told to. */
async function silentJobs(seconds: number): Promise<Map<string, End>> {
  const { api, studio } = slowlane;
  await studio.reset();
  await studio.fault({ point: 'events', fault: 'silent' });
  await studio.fault({ point: 'webhook', fault: 'silent' });
  await studio.fault({ point: 'run', fault: 'fail', seconds, error: 'No face found.', times: 2 });
  const submit = async (feature: 'upscale' | 'stylize') => (await api.submit({ feature, picture })).job.id;
  const both = async () => await Promise.all([submit('upscale'), submit('stylize')]);
  const run = async (ids: readonly string[]) =>
    await Promise.all(ids.map((id) => api.until(id, 'runs', ({ status }) => status === 'running')));
  const failing = await both();
  await run(failing);
  await studio.fault({ point: 'run', fault: 'ticks', perSecond: 2, seconds, times: 2 });
  const fine = await both();
  await run(fine);
  await studio.fault({ point: 'run', fault: 'ticks', perSecond: 2, seconds: 3_600, times: 2 });
  const canceled = await both();
  await run(canceled);
  const ends = (ids: readonly string[], end: End) => ids.map((id): [string, End] => [id, end]);
  return new Map([...ends(failing, 'failed'), ...ends(fine, 'succeeded'), ...ends(canceled, 'canceled')]);
}

async function cancelAtVendor(ids: readonly string[]): Promise<void> {
  const { api } = slowlane;
  for (const id of ids) expect((await api.cancel(id)).cancelRequestedAt).not.toBeNull();
}

/** Waits until every job is at the vendor's truth. @returns each with the vendor's own record of it. */
async function settled(jobs: ReadonlyMap<string, End>): Promise<{ job: JobBody; sold: VendorJob }[]> {
  return await Promise.all(
    [...jobs].map(async ([id, end]) => {
      const job = await slowlane.api.done(id);
      const [sold, ...more] = await slowlane.studio.acceptedFor(id);
      if (sold === undefined) throw new Error(`Nothing was sold for ${id}.`);
      expect([job.status, sold.status, more]).toEqual([end, end, []]);
      return { job, sold };
    }),
  );
}

const idsOf = (jobs: ReadonlyMap<string, End>, wanted: End) =>
  [...jobs].filter(([, end]) => end === wanted).map(([id]) => id);

const timeOf = (time: string | null) => Date.parse(time ?? '');

describe('with every event, stream and webhook of the vendor lost', () => {
  it('each job is at its true end within one interval of the vendor’s', async () => {
    const jobs = await silentJobs(2);
    await cancelAtVendor(idsOf(jobs, 'canceled'));
    for (const { job, sold } of await settled(jobs)) {
      expect(timeOf(job.finishedAt) - timeOf(sold.finishedAt)).toBeLessThanOrEqual(tickMs + tickTakesMs);
    }
  });

  it('and with its worker and its ring lost too, within one interval of the end of its watch', async () => {
    const { api, runtime } = slowlane;
    const jobs = await silentJobs(4);
    await cancelAtVendor(idsOf(jobs, 'canceled'));
    expect(await runtime.killWorkers()).toBeGreaterThan(0);
    const killedAt = Date.now();
    const left = await Promise.all([...jobs.keys()].map((id) => api.job(id)));
    expect(left.map(({ done }) => done)).toEqual(left.map(() => false));
    for (const { job, sold } of await settled(jobs)) {
      // Until its lease runs out, nobody can know that a watch has nobody behind it.
      const knowableAt = Math.max(timeOf(sold.finishedAt), killedAt + watchLeaseMs);
      expect(timeOf(job.finishedAt) - knowableAt).toBeLessThanOrEqual(tickMs + tickTakesMs);
    }
  });
});
