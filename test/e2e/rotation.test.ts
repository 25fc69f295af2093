import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { expectStatus } from './harness/api.ts';
import { eventually } from './harness/eventually.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 240_000 });

const jobs = 50;
const cap = 8;
const oldKey = 'studio-local-key';
const newKey = 'studio-rotated-key';

let slowlane: Slowlane;
beforeAll(async () => {
  slowlane = await startSlowlane({ limits: { submitsPerMinute: 1_000 } });
  expectStatus(await slowlane.operator.changeLane({ cap }), 200);
});
afterAll(async () => {
  await slowlane.stop();
});

describe('a vendor’s key that is rotated while fifty jobs run and wait', () => {
  it('fails none of them, flags none, buys none twice, and closes no lane', async () => {
    const { api, operator, studio } = slowlane;
    const { by: openedBy } = await operator.lane();
    await studio.fault({ point: 'run', fault: 'ticks', perSecond: 4, seconds: 3_600, times: cap });
    await studio.fault({ point: 'run', fault: 'ticks', perSecond: 4, seconds: 0.5 });
    const picture = await drawPicture();
    const submitted = await Promise.all(
      Array.from({ length: jobs }, (_, index) =>
        api.submit({ feature: index % 2 === 0 ? 'stylize' : 'upscale', picture }),
      ),
    );
    const ids = submitted.map(({ job }) => job.id);
    const sold = async (count: number, stillRunning: number) =>
      await eventually(
        `${count} are sold`,
        async () => {
          const { accepted, inFlight } = await studio.ledger();
          return (accepted.length >= count && inFlight <= stillRunning) || undefined;
        },
        { withinMs: 200_000 },
      );

    // As a team does it: the vendor takes both, Secrets Manager gets the new one, the old one ends at once.
    await sold(cap, jobs);
    await studio.struck('run');
    await studio.allowKeys(oldKey, newKey);
    await slowlane.putVendorSecrets(newKey);
    await studio.allowKeys(newKey);
    expect((await studio.ledger()).accepted).toHaveLength(cap);
    await studio.hurry();

    await sold(jobs, 0);
    const done = await Promise.all(ids.map((id) => api.done(id)));
    expect(done.map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'));
    expect(done.filter(({ attention }) => attention !== null)).toEqual([]);
    const { accepted, maxInFlight } = await studio.ledger();
    expect(accepted).toHaveLength(jobs);
    expect(new Set(accepted.map(({ key }) => key))).toEqual(new Set(ids.map((id) => `${id}.1`)));
    expect(maxInFlight).toBeLessThanOrEqual(cap);
    // No worker took the old key's end for a bad account: whoever changed the lane last stays named.
    expect(await operator.lane()).toMatchObject({ state: 'open', by: openedBy });
  });
});
