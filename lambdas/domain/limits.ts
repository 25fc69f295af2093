import { isTerminal } from './job.ts';
import type { Clock, JobStore, OpenJob, OpenJobs } from './ports.ts';

interface LimitsWorld {
  readonly jobs: Pick<JobStore, 'read'>;
  readonly clock: Clock;
}

const readsAtOnce = 25;
/** A submit that made no job by then makes none any more: its function was killed at half of that. */
const submitMs = 60_000;

/**
 * The oldest first, and no more of them are read than it takes to make room. Read strongly, one by one: an index that
 * lags would let in too many. Undefined: there is no room.
 */
export async function withoutEnded(open: OpenJobs, most: number, world: LimitsWorld): Promise<OpenJobs | undefined> {
  const oldestFirst = open.jobs.toSorted((one, other) => one.since - other.since);
  const unfinished: OpenJob[] = [];
  let unread = oldestFirst.length;
  for (let from = 0; from < oldestFirst.length && unfinished.length + unread >= most; from += readsAtOnce) {
    const some = oldestFirst.slice(from, from + readsAtOnce);
    const ended = await Promise.all(some.map((job) => hasEnded(job, world)));
    unfinished.push(...some.filter((_, nth) => ended[nth] === false));
    unread -= some.length;
  }
  if (unfinished.length + unread >= most) return undefined;
  return { jobs: [...unfinished, ...oldestFirst.slice(oldestFirst.length - unread)], revision: open.revision };
}

async function hasEnded({ id, since }: OpenJob, { jobs, clock }: LimitsWorld): Promise<boolean> {
  const read = await jobs.read(id);
  if (read === undefined) return clock.now() - since >= submitMs;
  return read.kind === 'erased' || isTerminal(read.job.state);
}
