import type { Principal } from './access.ts';
import { announce } from './announce-job.ts';
import type { Job } from './job.ts';
import { move } from './lifecycle.ts';
import type { Clock, EventBus, JobStore, Moved, ProgressFeed } from './ports.ts';
import { readJob, type JobRead } from './read-job.ts';
import type { Notices } from './world.ts';

export interface CancelWorld {
  readonly jobs: JobStore;
  readonly bus: EventBus;
  readonly feed: Pick<ProgressFeed, 'send' | 'flush'>;
  readonly notices: Notices;
  readonly clock: Clock;
  readonly retentionMs: number;
  /** Its event is sent by the reconciler then. */
  readonly notAnnounced: (error: unknown) => void;
}

/**
 * At once while it is queued: nothing was sent. Later only a request, which whoever holds the job acts on: the vendor may
 * have finished, and its word is the end. A job that has ended stays as it is.
 */
export async function cancelJob(id: string, principal: Principal, world: CancelWorld): Promise<JobRead> {
  const read = await readJob(id, principal, world.jobs);
  return read.kind === 'found' ? cancelFound(read.job, world) : read;
}

/** A job moves a few times in its life, so that it moves between so many looks in a row is a broken store. */
const maxLooks = 10;

/** A refused move shows the job as it is now, and what fits that is tried next. */
export async function cancelFound(job: Job, world: CancelWorld): Promise<JobRead> {
  let seen = job;
  for (let looks = 0; looks < maxLooks; looks += 1) {
    const moved = await step(seen, world);
    if (moved === undefined) return { kind: 'found', job: seen };
    if (moved.kind === 'moved') return { kind: 'found', job: await tell(moved.job, moved.followers, world) };
    if (moved.actual === undefined) return { kind: 'absent' };
    seen = moved.actual;
  }
  throw new Error(`The job ${job.id} moved away ${maxLooks} times.`);
}

function step(
  job: Job,
  { jobs, clock, retentionMs }: CancelWorld,
): Promise<Moved<'cancelQueued' | 'askToCancel'>> | undefined {
  const now = clock.now();
  switch (job.state) {
    case 'queued': {
      const ttl = Math.ceil((now + retentionMs) / 1000);
      return jobs.move(move('cancelQueued', job, { finishedAt: now, ttl, checkAt: now }));
    }
    case 'dispatching':
    case 'running':
    case 'needs_attention':
      if (job.cancelRequestedAt !== undefined) return undefined;
      return jobs.move(move('askToCancel', job, { cancelRequestedAt: now }));
    case 'succeeded':
    case 'failed':
    case 'canceled':
      return undefined;
  }
}

async function tell(job: Job, followers: readonly string[], world: CancelWorld): Promise<Job> {
  world.feed.send(followers, { type: 'job', job });
  try {
    await announce(world, job);
  } catch (error) {
    world.notAnnounced(error);
  }
  return job;
}
