import { maySee, type Principal } from './access.ts';
import { mayBeJobId } from './idempotency.ts';
import type { Job } from './job.ts';
import { tenantOf, userOf } from './job.ts';
import type { JobStore } from './ports.ts';

export type Following =
  | { readonly kind: 'following'; readonly job: Job }
  /** Eight sockets follow it already; the snapshot is still true. */
  | { readonly kind: 'full'; readonly job: Job }
  | { readonly kind: 'absent' };

/** Starts to follow a job, and returns the snapshot to send first. Another owner's job is absent. */
export async function followJob(
  jobs: Pick<JobStore, 'read' | 'follow'>,
  principal: Principal,
  jobId: string,
  connectionId: string,
): Promise<Following> {
  const read = mayBeJobId(jobId) ? await jobs.read(jobId) : undefined;
  if (read?.kind !== 'job') return { kind: 'absent' };
  const { owner } = read.job;
  if (!maySee(principal, { tenant: tenantOf(owner), user: userOf(owner) })) return { kind: 'absent' };
  return await jobs.follow(jobId, owner, connectionId);
}
