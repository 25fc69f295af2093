import { activeStates } from './job.ts';
import type { JobIndex } from './ports.ts';

export interface Limits {
  /** Unfinished jobs of one owner. */
  readonly activeJobs: number;
  readonly submitsPerMinute: number;
}

const pageSize = 100;
const maxPages = 10;

/**
 * Whether the owner has as many unfinished jobs as it may have. The index is asked only where the day's submits could
 * reach the limit, so an ordinary submit pays nothing for it. An owner with more than a thousand newer jobs than its
 * oldest unfinished one is let through: the limit guards a lane's order, it is not money.
 */
export async function hasTooManyActiveJobs(
  owner: string,
  submitsToday: number,
  limit: number,
  index: Pick<JobIndex, 'ofOwner'>,
): Promise<boolean> {
  if (submitsToday <= limit) return false;
  let active = 0;
  let cursor: string | undefined;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const page = await index.ofOwner(owner, activeStates, cursor, pageSize);
    active += page.items.length;
    if (active >= limit) return true;
    if (page.next === undefined) return false;
    cursor = page.next;
  }
  return false;
}
