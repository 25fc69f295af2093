import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { expectStatus } from './harness/api.ts';
import { eventually } from './harness/eventually.ts';
import { probeEveryMs } from './harness/impatient-timing.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 120_000 });

const cap = 2;
const auditedSchema = z.object({ evidence: z.array(z.object({ what: z.string() })), audit: z.array(z.unknown()) });

let slowlane: Slowlane;
let picture: Buffer<ArrayBuffer>;
beforeAll(async () => {
  picture = await drawPicture();
  slowlane = await startSlowlane({ impatient: true, reconcileEverySeconds: 1 });
  expectStatus(await slowlane.operator.changeLane({ cap }), 200);
});
afterAll(async () => {
  await slowlane.stop();
});

async function submitSome(): Promise<string[]> {
  const features = ['stylize', 'upscale', 'stylize', 'upscale'] as const;
  const submitted = await Promise.all(features.map((feature) => slowlane.api.submit({ feature, picture })));
  return submitted.map(({ job }) => job.id);
}

async function untilTripped(vendorSays: RegExp): Promise<void> {
  const lane = await eventually('the lane is tripped', async () => {
    const seen = await slowlane.operator.lane();
    return seen.state === 'tripped' ? seen : undefined;
  });
  expect(lane).toMatchObject({
    by: expect.stringMatching(/^vendor studio/),
    reason: expect.stringMatching(vendorSays),
  });
}

/** By the probe alone: no operator says a word. Every job is bought once, and none was ever flagged or failed. */
async function opensByItself(ids: readonly string[]): Promise<void> {
  const { api, operator, studio } = slowlane;
  for (const id of ids) {
    expect(await api.done(id)).toMatchObject({ status: 'succeeded' });
    expect((await studio.acceptedFor(id)).map(({ key }) => key)).toEqual([`${id}.1`]);
    const shown = auditedSchema.parse(expectStatus(await operator.send(`/api/v1/operator/jobs/${id}`), 200));
    // A webhook may have been faster than the vendor's answer.
    expect(shown.evidence.filter(({ what }) => what !== 'vendor_event')).toEqual([]);
    expect(shown.audit).toEqual([]);
  }
  expect(await operator.lane()).toMatchObject({ state: 'open', by: 'probe' });
}

describe('a lane that is tripped', () => {
  it('sends one probe at a time while the vendor refuses the account, and opens by the first that it takes', async () => {
    const { api, operator, studio } = slowlane;
    await studio.fault({ point: 'submit', fault: 'status', status: 402, error: 'Your balance is empty.' });
    const startedAtMs = performance.now();
    const ids = await submitSome();
    await untilTripped(/Your balance is empty/);
    const { posts } = await studio.ledger();
    await eventually('two probes are refused', async () => (await studio.ledger()).posts >= posts + 2 || undefined);
    const tried = (await studio.ledger()).posts;
    // Whoever was at it when the lane closed, then one for each time that has gone by.
    expect(tried).toBeLessThanOrEqual(cap + (performance.now() - startedAtMs) / probeEveryMs);
    expect((await operator.lane()).state).toBe('tripped');
    const statuses = await Promise.all(ids.map(async (id) => (await api.job(id)).status));
    // The one that is the probe may be out just now.
    expect(statuses.filter((status) => status !== 'queued' && status !== 'dispatching')).toEqual([]);
    expect((await studio.ledger()).accepted).toEqual([]);
    await studio.clearFaults();
    await opensByItself(ids);
  });

  it('opens by itself once our key is right again', async () => {
    const { studio } = slowlane;
    await studio.allowKeys('another-key');
    const ids = await submitSome();
    await untilTripped(/./);
    await slowlane.putVendorSecrets('another-key');
    await opensByItself(ids);
  });
});
