import { maySee, type Principal } from './access.ts';
import { jobIdOf, mayBeJobId } from './idempotency.ts';
import { ownerOf, tenantOf, userOf, type Job, type Tombstone } from './job.ts';
import type { JobStore } from './ports.ts';

export type JobRead =
  | { readonly kind: 'found'; readonly job: Job }
  | { readonly kind: 'erased'; readonly tombstone: Tombstone }
  /** Unknown, or another owner's: the two are told apart to nobody. */
  | { readonly kind: 'absent' };

export async function readJob(id: string, principal: Principal, jobs: Pick<JobStore, 'read'>): Promise<JobRead> {
  const read = mayBeJobId(id) ? await jobs.read(id) : undefined;
  if (read === undefined) return { kind: 'absent' };
  const { owner } = read.kind === 'job' ? read.job : read.tombstone;
  if (!maySee(principal, { tenant: tenantOf(owner), user: userOf(owner) })) return { kind: 'absent' };
  return read.kind === 'job' ? { kind: 'found', job: read.job } : read;
}

/** For an app that lost the answer to its submit: it still has the key. */
export function readJobByKey(key: string, principal: Principal, jobs: Pick<JobStore, 'read'>): Promise<JobRead> {
  return readJob(jobIdOf(ownerOf(principal.tenant, principal.user), key), principal, jobs);
}
