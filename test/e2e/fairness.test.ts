import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Api } from './harness/api.ts';
import { expectStatus } from './harness/api.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 180_000 });

let slowlane: Slowlane;
beforeAll(async () => {
  slowlane = await startSlowlane({ limits: { activeJobs: 1_000, submitsPerMinute: 10_000 } });
});
afterAll(async () => {
  await slowlane.stop();
});

/** Ids in the order in which they were submitted, some at a time. */
async function submitMany(as: Api, count: number, picture: Buffer<ArrayBuffer>): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const some = Array.from({ length: Math.min(10, count - ids.length) }, () =>
      as.submit({ feature: 'stylize', picture }),
    );
    ids.push(...(await Promise.all(some)).map(({ job }) => job.id));
  }
  return ids;
}

describe('a burst of one user', () => {
  it('delays another user’s ten jobs by about ten jobs', async () => {
    const { operator, studio } = slowlane;
    const picture = await drawPicture();
    const [busy, quiet] = [operator.as('busy'), operator.as('quiet')];
    expectStatus(await operator.changeLane({ state: 'paused' }), 200);
    const burst = await submitMany(busy, 300, picture);
    expectStatus(await operator.changeLane({ state: 'open', cap: 8 }), 200);
    await busy.done(burst[0] ?? '');
    const came = await submitMany(quiet, 10, picture);
    const cameAtMs = Date.now();
    const done = await Promise.all(came.map((id) => quiet.done(id)));
    const lastEndMs = Math.max(...done.map(({ finishedAt }) => Date.parse(finishedAt ?? '')));
    // Of those that were not sent when the second user had come, in the order in which they ended.
    const { accepted } = await studio.ledger();
    const overtaken = accepted
      .filter(({ key }) => burst.includes(key?.replace(/\.1$/, '') ?? ''))
      .filter(({ acceptedAt, finishedAt }) => Date.parse(acceptedAt) > cameAtMs && finishedAt !== null)
      .filter(({ finishedAt }) => Date.parse(finishedAt ?? '') < lastEndMs);
    expect(overtaken.length).toBeLessThan(30);
    // In the burst itself, the order of the submits: the first is not still waiting when the last is done.
    expect((await busy.job(burst[299] ?? '')).status).toBe('queued');
    expectStatus(await operator.changeLane({ state: 'paused' }), 200);
  });
});
