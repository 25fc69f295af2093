import type { Job } from '../../../lambdas/domain/job.ts';
import { newJob } from '../../../lambdas/domain/new-job.ts';

/** A job as a submit leaves it. */
export function submittedJob(
  id: string,
  now: number,
  { vendor, lane, rank, ...rest }: { vendor: string; lane: string; rank: number } & Partial<Job<'queued'>>,
): Job<'queued'> {
  const job = newJob({
    id,
    owner: 'team/ada',
    feature: 'upscale',
    vendor,
    adapterVersion: 1,
    lane,
    fingerprint: 'v1:0',
    submitToken: `submit-${id}`,
    createdAt: now,
    picture: undefined,
    maxQueueMs: 3_600_000,
    maxRunMs: 30_000,
    rank,
    laneClosedMs: 0,
  });
  return { ...job, ...rest };
}
