import { describe, expect, it } from 'vitest';
import { markRestored } from '../../lambdas/domain/mark-restored.ts';
import { cantBeRunningFrom, quarantineEnd } from '../../lambdas/domain/money-rule.ts';
import { ManualClock } from '../fakes/manual-clock.ts';
import { MemoryAuditStore } from '../fakes/memory-audit-store.ts';
import { MemoryEvidenceStore } from '../fakes/memory-evidence-store.ts';
import { MemoryJobIndex } from '../fakes/memory-job-index.ts';
import { MemoryJobStore } from '../fakes/memory-job-store.ts';
import { MemoryLaneStore } from '../fakes/memory-lane-store.ts';
import { ToldVendor } from '../fakes/told-vendor.ts';
import { noon, storedJob } from '../fixtures/stored-job.ts';

function restoredTable() {
  const jobs = new MemoryJobStore();
  const lanes = new MemoryLaneStore({ default: 2 });
  const evidence = new MemoryEvidenceStore();
  const clock = new ManualClock(noon + 3_600_000);
  const world = {
    clock,
    jobs,
    index: new MemoryJobIndex(jobs),
    lanes,
    evidence,
    audit: new MemoryAuditStore(),
    feed: { send: () => undefined, flush: () => Promise.resolve() },
    notices: { note: () => undefined },
  };
  const order = { actor: 'operator ann', reason: 'drill', restoredTo: noon };
  return { world, jobs, lanes, evidence, run: () => markRestored(world, ['default'], order) };
}

describe('after a restore', () => {
  it.each(['queued', 'dispatching', 'running'] as const)(
    'flags a job that was %s: it may have gone on since',
    async (state) => {
      const { jobs, evidence, run } = restoredTable();
      jobs.put(storedJob(state, { announce: undefined }));
      const restored = await run();
      expect(restored.flagged).toBe(1);
      expect(jobs.get('job_a')).toMatchObject({ state: 'needs_attention', flag: { code: 'restored' } });
      expect(await evidence.read('job_a')).toMatchObject([{ what: 'restored', detail: { wasState: state } }]);
    },
  );

  it.each(['queued', 'dispatching', 'running'] as const)(
    'lets one that was %s run until as late as it could have been sent before it was flagged',
    async (state) => {
      const { world, jobs, run } = restoredTable();
      jobs.put(storedJob(state, { announce: undefined }));
      await run();
      const { traits } = new ToldVendor();
      const longest = traits.sendTimeoutMs + (traits.maxLifeMs ?? 0);
      const now = world.clock.now();
      expect(cantBeRunningFrom(jobs.get('job_a'), traits)).toBeGreaterThanOrEqual(now + longest);
      expect(quarantineEnd(jobs.get('job_a'), traits)).toBeGreaterThanOrEqual(now + traits.listingLagMs);
    },
  );

  it.each(['succeeded', 'failed', 'canceled'] as const)('leaves a job that was %s', async (state) => {
    const { jobs, run } = restoredTable();
    jobs.put(storedJob(state));
    expect(await run()).toMatchObject({ flagged: 0 });
    expect(jobs.get('job_a').state).toBe(state);
  });

  it('pauses the lanes before anything else, and may be run again', async () => {
    const { jobs, lanes, run } = restoredTable();
    jobs.put(storedJob('queued'));
    await run();
    expect(lanes.get('default').state).toBe('paused');
    expect(await run()).toMatchObject({ paused: ['default'], flagged: 0, left: 1 });
  });

  it('keeps a late worker of before from claiming a job that was queued', async () => {
    const { jobs, run } = restoredTable();
    const before = storedJob('queued');
    jobs.put(before);
    await run();
    expect(jobs.get('job_a').attempt).toBe(before.attempt + 1);
  });
});
