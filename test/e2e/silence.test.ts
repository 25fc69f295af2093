import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { JobBody } from '../../lambdas/http/job-body.ts';
import { expectStatus } from './harness/api.ts';
import { eventually } from './harness/eventually.ts';
import { tickMs, watchLeaseMs } from './harness/impatient-timing.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';
import type { Fault, VendorJob } from './harness/studio.ts';

vi.setConfig({ testTimeout: 120_000 });

/** A tick's own work, on a loaded machine: it asks, copies the pictures and writes. */
const tickTakesMs = 8_000;

let slowlane: Slowlane;
let picture: Buffer<ArrayBuffer>;
beforeAll(async () => {
  picture = await drawPicture();
  slowlane = await startSlowlane({
    impatient: true,
    reconcileEverySeconds: tickMs / 1_000,
    vendor: { options: { askTimeoutMs: 5_000 } },
  });
  expectStatus(await slowlane.operator.changeLane({ cap: 8 }), 200);
});
afterAll(async () => {
  await slowlane.stop();
});

type End = 'succeeded' | 'failed' | 'canceled';

/**
 * Six jobs at a vendor that tells nothing by itself, and how each ends there. Two are canceled by now; the others run
 * until the vendor is hurried.
 */
async function silentJobs(): Promise<Map<string, End>> {
  const { api, studio } = slowlane;
  await studio.reset();
  await studio.fault({ point: 'events', fault: 'silent' });
  await studio.fault({ point: 'webhook', fault: 'silent' });
  const running = async (fault: Fault): Promise<string[]> => {
    await studio.fault(fault);
    const ids = await Promise.all([submit('upscale'), submit('stylize')]);
    await Promise.all(ids.map((id) => api.until(id, 'runs', ({ status }) => status === 'running')));
    await studio.struck('run');
    return ids;
  };
  const submit = async (feature: 'upscale' | 'stylize') => (await api.submit({ feature, picture })).job.id;
  const longRun = { point: 'run', seconds: 3_600, times: 2 } as const;
  const failing = await running({ ...longRun, fault: 'fail', error: 'No face found.' });
  const fine = await running({ ...longRun, fault: 'ticks', perSecond: 2 });
  const canceled = await running({ ...longRun, fault: 'ticks', perSecond: 2 });
  for (const id of canceled) expect((await api.cancel(id)).cancelRequestedAt).not.toBeNull();
  await eventually('the vendor has canceled two', async () => {
    const { accepted } = await studio.ledger();
    return accepted.filter(({ status }) => status === 'canceled').length === 2 || undefined;
  });
  const ends = (ids: readonly string[], end: End) => ids.map((id): [string, End] => [id, end]);
  return new Map([...ends(failing, 'failed'), ...ends(fine, 'succeeded'), ...ends(canceled, 'canceled')]);
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

const timeOf = (time: string | null) => Date.parse(time ?? '');

describe('with every event, stream and webhook of the vendor lost', () => {
  it('each job is at its true end within one interval of the vendor’s', async () => {
    const jobs = await silentJobs();
    await slowlane.studio.hurry();
    for (const { job, sold } of await settled(jobs)) {
      expect(timeOf(job.finishedAt) - timeOf(sold.finishedAt)).toBeLessThanOrEqual(tickMs + tickTakesMs);
    }
  });

  it('and with its worker and its ring lost too, within one interval of the end of its watch', async () => {
    const { runtime, studio } = slowlane;
    const jobs = await silentJobs();
    expect(await runtime.killWorkers()).toBeGreaterThan(0);
    const killedAt = Date.now();
    await studio.hurry();
    for (const { job, sold } of await settled(jobs)) {
      // Until its lease runs out, nobody can know that a watch has nobody behind it.
      const knowableAt = Math.max(timeOf(sold.finishedAt), killedAt + watchLeaseMs);
      expect(timeOf(job.finishedAt) - knowableAt).toBeLessThanOrEqual(tickMs + tickTakesMs);
    }
  });
});
