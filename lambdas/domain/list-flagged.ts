import type { FlagCode, Job } from './job.ts';
import { tenantOf } from './job.ts';
import { wantsAttention } from './lifecycle.ts';
import type { JobIndex, JobStore } from './ports.ts';

/** Why a job waits for a person; the last: a person failed it, and it may still be running at the vendor. */
export type Cause = FlagCode | 'may_still_run';

export const causes = [
  'unknown_send',
  'worker_lost',
  'vendor_lost_job',
  'overdue',
  'result_lost',
  'vendor_job_conflict',
  'restored',
  'may_still_run',
] as const satisfies readonly Cause[];

export interface FlaggedFilter {
  readonly tenant: string;
  /** Absent: in every lane. */
  readonly lane: string | undefined;
  readonly code: Cause | undefined;
  readonly vendor: string | undefined;
}

export interface FlaggedList {
  /** Oldest first. */
  readonly jobs: readonly Job[];
  readonly next: string | undefined;
  /** Of all that the filter matches, whatever its `code`. */
  readonly counts: Readonly<Partial<Record<Cause, number>>>;
  /** False: there are more than were looked at, so that the counts are too low. */
  readonly complete: boolean;
}

interface FlaggedWorld {
  readonly jobs: Pick<JobStore, 'read'>;
  readonly index: Pick<JobIndex, 'flagged'>;
}

const pageSize = 100;
/** Flags are rare; after an outage they may be thousands, and one request reads no more than these. */
const mostRead = 5_000;

export function causeOf(job: Job): Cause | undefined {
  if (!wantsAttention(job)) return undefined;
  return job.state === 'needs_attention' ? job.flag.code : 'may_still_run';
}

/**
 * The flagged jobs of one tenant, all counted and a page of them shown. The index is of lanes, which tenants share, so
 * that the tenant is compared with each job as it is now.
 */
export async function listFlagged(
  filter: FlaggedFilter,
  page: { readonly cursor: string | undefined; readonly limit: number },
  lanes: readonly string[],
  world: FlaggedWorld,
): Promise<FlaggedList> {
  const wanted = filter.lane === undefined ? lanes : lanes.filter((lane) => lane === filter.lane);
  const { jobs, complete } = await readFlagged(wanted, world);
  const matching = jobs.filter((job) => isMeant(job, filter)).toSorted(comparePlaces);
  const listed = matching.filter((job) => filter.code === undefined || causeOf(job) === filter.code);
  const rest = page.cursor === undefined ? listed : listed.filter((job) => isAfter(job, page.cursor ?? ''));
  const shown = rest.slice(0, page.limit);
  const last = shown.at(-1);
  const next = last === undefined || rest.length === shown.length ? undefined : placeOf(last);
  return { jobs: shown, next, counts: countCauses(matching), complete };
}

async function readFlagged(
  lanes: readonly string[],
  { jobs, index }: FlaggedWorld,
): Promise<{ jobs: readonly Job[]; complete: boolean }> {
  const found = new Map<string, Job>();
  let read = 0;
  for (const lane of lanes) {
    let cursor: string | undefined;
    do {
      if (read >= mostRead) return { jobs: [...found.values()], complete: false };
      const page = await index.flagged(lane, cursor, pageSize);
      for (const each of await Promise.all(page.items.map((id) => jobs.read(id)))) {
        if (each?.kind === 'job') found.set(each.job.id, each.job);
      }
      read += page.items.length;
      cursor = page.next;
    } while (cursor !== undefined);
  }
  return { jobs: [...found.values()], complete: true };
}

function isMeant(job: Job, { tenant, vendor }: FlaggedFilter): boolean {
  const isOurs = tenantOf(job.owner) === tenant && (vendor === undefined || job.vendor === vendor);
  // The index lags: it may have been settled since.
  return isOurs && wantsAttention(job);
}

function countCauses(jobs: readonly Job[]): FlaggedList['counts'] {
  const counts: Partial<Record<Cause, number>> = {};
  for (const cause of jobs.flatMap((job) => causeOf(job) ?? [])) counts[cause] = (counts[cause] ?? 0) + 1;
  return counts;
}

export function flaggedAt(job: Job): number {
  return job.flag?.since ?? job.finishedAt ?? job.createdAt;
}

/** Where a list goes on after this job. Sorts as text in the order of time: epoch ms have 13 digits until 2286. */
export function placeOf(job: Job): string {
  return `${String(flaggedAt(job)).padStart(15, '0')} ${job.id}`;
}

function comparePlaces(one: Job, other: Job): number {
  return isAfter(one, placeOf(other)) ? 1 : -1;
}

function isAfter(job: Job, place: string): boolean {
  return placeOf(job) > place;
}
