import { expect, it } from 'vitest';
import { tenantOf } from '../../lambdas/domain/job.ts';
import { countFlagged, listFlagged } from '../../lambdas/domain/list-flagged.ts';
import { MemoryJobIndex } from '../fakes/memory-job-index.ts';
import { MemoryJobStore } from '../fakes/memory-job-store.ts';
import { noon, storedJob } from '../fixtures/stored-job.ts';

const lanes = Array.from({ length: 120 }, (_, nth) => `lane-${nth}`);

function flaggedIn(some: readonly string[]) {
  const jobs = new MemoryJobStore();
  const flagged = some.map((lane, nth) =>
    storedJob('needs_attention', { id: `job_${lane}`, lane, flag: { code: 'overdue', since: noon + nth } }),
  );
  for (const job of flagged) jobs.put(job);
  const tenant = tenantOf(storedJob('queued').owner);
  const filter = { tenant, lane: undefined, code: undefined, vendor: undefined };
  return { filter, world: { jobs, index: new MemoryJobIndex(jobs) } };
}

it('lanes without a flagged job don’t make the counts incomplete', async () => {
  const { filter, world } = flaggedIn(lanes.slice(-2));
  expect(await countFlagged(filter, lanes, world)).toEqual({ counts: { overdue: 2 }, complete: true });
});

it('a list over many lanes goes on page by page, and shows each of them once', async () => {
  const { filter, world } = flaggedIn(lanes);
  const shown: string[] = [];
  let cursor: string | undefined;
  do {
    const { jobs, next } = await listFlagged(filter, { cursor, limit: 25 }, lanes, world);
    shown.push(...jobs.map(({ job }) => job.lane));
    cursor = next;
  } while (cursor !== undefined);
  expect(shown).toEqual(lanes);
});
