import { flagCodes, tenantOf, type Job } from './job.ts';
import { wantsAttention } from './lifecycle.ts';
import type { Flagged, JobIndex, JobStore } from './ports.ts';

/** Why a job waits for a person; the last: a person failed it, and it may still be running at the vendor. */
export const causes = [...flagCodes, 'may_still_run'] as const;
export type Cause = (typeof causes)[number];

export interface FlaggedFilter {
  readonly tenant: string;
  /** Absent: in every lane. */
  readonly lane: string | undefined;
  readonly code: Cause | undefined;
  readonly vendor: string | undefined;
}

export interface FlaggedPage {
  /** Oldest first. `after`: the cursor with which the list goes on after it. */
  readonly jobs: readonly { readonly job: Job; readonly after: string }[];
  readonly next: string | undefined;
}

export interface FlaggedCounts {
  /** Of all that the filter matches, whatever its `code`. */
  readonly counts: Readonly<Partial<Record<Cause, number>>>;
  /** False: there are more than were looked at, so that the counts are too low. */
  readonly complete: boolean;
}

interface FlaggedWorld {
  readonly jobs: Pick<JobStore, 'read'>;
  readonly index: Pick<JobIndex, 'flagged' | 'glanceFlagged'>;
}

const indexPage = 100;
const readsAtOnce = 10;
/** However few of them match: a page may be short, and the list goes on. */
const mostRead = 200;
/** Flags are rare; after an outage they may be thousands. */
const mostCounted = 5_000;

export function causeOf(job: Job): Cause | undefined {
  if (!wantsAttention(job)) return undefined;
  return job.state === 'needs_attention' ? job.flag.code : 'may_still_run';
}

/**
 * A page of the flagged jobs of one tenant. The index is of lanes, which tenants share, so that tenant and filter are
 * compared with each job as it is now: read strongly, and no more of them than it takes to fill the page.
 */
export async function listFlagged(
  filter: FlaggedFilter,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
  lanes: readonly string[],
  world: FlaggedWorld,
): Promise<FlaggedPage> {
  const order = new FlaggedOrder(lanesOf(filter, lanes), cursor, world.index);
  const found = new Map<string, FlaggedPage['jobs'][number]>();
  let next = cursor;
  for (let read = 0; read < mostRead;) {
    const some = await order.take(Math.max(readsAtOnce, limit - found.size));
    if (some.length === 0) return { jobs: [...found.values()], next: undefined };
    const jobs = await Promise.all(some.map(({ id }) => world.jobs.read(id)));
    for (const [nth, { after }] of some.entries()) {
      const each = jobs[nth];
      next = after;
      if (each?.kind === 'job' && isListed(each.job, filter)) found.set(each.job.id, { job: each.job, after });
      if (found.size < limit) continue;
      const isLast = nth === some.length - 1 && (await order.isOver());
      return { jobs: [...found.values()], next: isLast ? undefined : next };
    }
    read += some.length;
  }
  return { jobs: [...found.values()], next };
}

/** All flagged jobs of one tenant by cause, as they were a moment ago: a number for a person needs no strong reads. */
export async function countFlagged(
  filter: FlaggedFilter,
  lanes: readonly string[],
  { index }: Pick<FlaggedWorld, 'index'>,
): Promise<FlaggedCounts> {
  const meant = new Map<string, Job>();
  let seen = 0;
  for (const lane of lanesOf(filter, lanes)) {
    let cursor: string | undefined;
    do {
      if (seen >= mostCounted) return { counts: countCauses(meant), complete: false };
      const page = await index.glanceFlagged(lane, cursor, indexPage);
      for (const job of page.items) if (isMeant(job, filter)) meant.set(job.id, job);
      // A page that goes on was full, whatever of it is no job any more; a lane without flags costs nothing.
      seen += page.next === undefined ? page.items.length : indexPage;
      cursor = page.next;
    } while (cursor !== undefined);
  }
  return { counts: countCauses(meant), complete: true };
}

function lanesOf({ lane }: FlaggedFilter, lanes: readonly string[]): readonly string[] {
  return lane === undefined ? lanes : lanes.filter((each) => each === lane);
}

interface Place {
  readonly id: string;
  readonly after: string;
}

/** The entries of several lanes' indexes as one, oldest first; a cursor is where each lane goes on. */
class FlaggedOrder {
  readonly #lanes: readonly LaneEntries[];
  readonly #places: Record<string, string>;

  constructor(lanes: readonly string[], cursor: string | undefined, index: FlaggedWorld['index']) {
    this.#places = cursor === undefined ? {} : (JSON.parse(cursor) as Record<string, string>);
    this.#lanes = lanes.map((lane) => new LaneEntries(lane, this.#places[lane], index));
  }

  async isOver(): Promise<boolean> {
    return (await this.#oldest()) === undefined;
  }

  async take(most: number): Promise<readonly Place[]> {
    const taken: Place[] = [];
    while (taken.length < most) {
      const oldest = await this.#oldest();
      const entry = oldest?.shift();
      if (oldest === undefined || entry === undefined) break;
      this.#places[oldest.lane] = entry.cursor;
      taken.push({ id: entry.id, after: JSON.stringify(this.#places) });
    }
    return taken;
  }

  async #oldest(): Promise<LaneEntries | undefined> {
    let oldest: { readonly lane: LaneEntries; readonly since: number } | undefined;
    for (const lane of this.#lanes) {
      const since = (await lane.head())?.since;
      if (since !== undefined && (oldest === undefined || since < oldest.since)) oldest = { lane, since };
    }
    return oldest?.lane;
  }
}

class LaneEntries {
  readonly lane: string;
  readonly #index: FlaggedWorld['index'];
  #entries: Flagged[] = [];
  #cursor: string | undefined;
  #isRead = false;

  constructor(lane: string, cursor: string | undefined, index: FlaggedWorld['index']) {
    this.lane = lane;
    this.#cursor = cursor;
    this.#index = index;
  }

  async head(): Promise<Flagged | undefined> {
    while (this.#entries.length === 0 && !this.#isRead) {
      const page = await this.#index.flagged(this.lane, this.#cursor, indexPage);
      this.#entries = [...page.items];
      this.#cursor = page.next;
      this.#isRead = page.next === undefined;
    }
    return this.#entries[0];
  }

  shift(): Flagged | undefined {
    return this.#entries.shift();
  }
}

function isListed(job: Job, filter: FlaggedFilter): boolean {
  return isMeant(job, filter) && (filter.code === undefined || causeOf(job) === filter.code);
}

function isMeant(job: Job, { tenant, vendor }: FlaggedFilter): boolean {
  const isOurs = tenantOf(job.owner) === tenant && (vendor === undefined || job.vendor === vendor);
  // The index lags: it may have been settled since.
  return isOurs && wantsAttention(job);
}

function countCauses(jobs: ReadonlyMap<string, Job>): FlaggedCounts['counts'] {
  const counts: Partial<Record<Cause, number>> = {};
  for (const job of jobs.values()) {
    const cause = causeOf(job);
    if (cause !== undefined) counts[cause] = (counts[cause] ?? 0) + 1;
  }
  return counts;
}

export function flaggedAt(job: Job): number {
  return job.flag?.since ?? job.finishedAt ?? job.createdAt;
}
