import { beforeEach, expect, it } from 'vitest';
import { ownerOf } from '../../../lambdas/domain/job.ts';
import type { Notice } from '../../../lambdas/domain/world.ts';
import { createLog } from '../../../lambdas/runtime/log.ts';
import { createMetrics } from '../../../lambdas/runtime/metrics.ts';
import { createNotices } from '../../../lambdas/runtime/notices.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { storedJob } from '../../fixtures/stored-job.ts';

let lines: Record<string, unknown>[];
beforeEach(() => {
  lines = [];
});

function note(notice: Notice): void {
  const clock = new ManualClock();
  const writeLine = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = createLog({ environment: 'test', function: 'dispatch-job', clock, writeLine });
  createNotices(log, createMetrics({ environment: 'test', clock, writeLine: () => {} })).note(notice);
}

const owner = ownerOf('acme corp', 'ann');

it.each(['flagged', 'moved'] as const)('says whose key shows a flagged job, and not which user: %s', (kind) => {
  const job = storedJob('needs_attention', { owner });
  note(kind === 'flagged' ? { kind, job } : { kind, job, transition: 'mark' });
  expect(lines).toMatchObject([{ event: 'job_moved', jobId: job.id, to: 'needs_attention', tenant: 'acme corp' }]);
  expect(JSON.stringify(lines)).not.toContain('ann');
});

it('names nobody where a job goes its way', () => {
  note({ kind: 'moved', job: storedJob('running', { owner }), transition: 'accept' });
  expect(lines).toMatchObject([{ event: 'job_moved', to: 'running' }]);
  expect(JSON.stringify(lines)).not.toMatch(/acme|ann/);
});

it("says which lane was tripped, without the vendor's words, which may quote a user's", () => {
  note({ kind: 'lane_tripped', lane: 'quick', reason: 'Blocked: "my private prompt"' });
  expect(lines).toMatchObject([
    { event: 'lane_tripped', lane: 'quick', reason: 'The vendor takes nothing from us: the lane says why.' },
  ]);
  expect(JSON.stringify(lines)).not.toContain('private');
});
