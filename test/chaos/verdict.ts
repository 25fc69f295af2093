import type { JobBody } from '../../lambdas/http/job-body.ts';
import type { PublishedEvent } from '../e2e/harness/runtime.ts';
import type { Ledger, VendorJob } from '../e2e/harness/studio.ts';
import type { Action } from './customers.ts';
import type { Crashes } from './mischief.ts';
import { neededKinds, type FaultKind } from './struck-faults.ts';
import { truthsOf, type Act, type Calm } from './truth.ts';

export interface Books {
  readonly actions: readonly Action[];
  readonly jobs: readonly JobBody[];
  readonly ledger: Ledger;
  readonly events: readonly PublishedEvent[];
  readonly cap: number;
  /** Units of the lane that are still held. */
  readonly held: number;
  readonly acts: readonly Act[];
  readonly calm: Calm;
  readonly crashes: Crashes;
  readonly struck: ReadonlyMap<FaultKind, number>;
}

const announcements: Readonly<Record<string, string>> = {
  succeeded: 'Job Succeeded',
  failed: 'Job Failed',
  canceled: 'Job Canceled',
};

/** Compares what we say with what the vendor's books say. @returns every broken promise. */
export function violations(books: Books): string[] {
  const byId = new Map(books.jobs.map((job) => [job.id, job]));
  return [
    ...books.actions.flatMap(({ id, key }) => (byId.has(id) ? [] : [`lost: ${id} of ${key}`])),
    ...paidTwice(books.ledger),
    ...capBroken(books),
    ...books.jobs.flatMap((job) => untrue(job, soldFor(job, books.ledger))),
    ...books.jobs.flatMap((job) => unannounced(job, books.events)),
    ...strangers(books, byId),
    ...lateTruths(books),
  ];
}

/** What was not tried, so that nothing broken proves nothing. */
export function untried({ ledger, cap, jobs, acts, calm, crashes, struck }: Books): string[] {
  const isTried: readonly (readonly [what: string, isTried: boolean])[] = [
    [`the cap of ${cap} was never reached: ${ledger.maxInFlight} at once`, ledger.maxInFlight >= cap],
    ['no worker was killed', crashes.workers > 0],
    ['the runtime was not killed', crashes.gateways > 0],
    ...neededKinds.map((kind) => [`no ${kind} struck at the vendor`, (struck.get(kind) ?? 0) > 0] as const),
    ['nothing was out when the faults ended', truthsOf(calm, jobs, ledger, acts).some(({ isOrphan }) => isOrphan)],
  ];
  return isTried.filter(([, isTried]) => !isTried).map(([what]) => what);
}

/** Who buys anew here looks into the vendor's books first: no job is sold a second time, under whatever key. */
export function paidTwice({ accepted }: Ledger): string[] {
  const counts = new Map<string, number>();
  for (const { key } of accepted) counts.set(jobIdOf(key), (counts.get(jobIdOf(key)) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > 1).map(([id, count]) => `paid ${count} times: ${id}`);
}

const jobIdOf = (key: string | null) => key?.replace(/\.\d+$/, '') ?? '';

export function lateTruths({ jobs, ledger, acts, calm }: Books): string[] {
  return truthsOf(calm, jobs, ledger, acts)
    .filter(({ lateMs }) => lateMs > calm.intervalMs + calm.tickTakesMs)
    .map(({ jobId, said, lateMs }) => `${jobId} said ${said} ${seconds(lateMs)} after it could be known`);
}

export const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

function capBroken({ ledger, cap, held }: Books): string[] {
  const broken: string[] = [];
  if (ledger.maxInFlight > cap) broken.push(`the vendor ran ${ledger.maxInFlight} at once, over the cap of ${cap}`);
  if (ledger.inFlight > 0) broken.push(`the vendor still runs ${ledger.inFlight}`);
  if (held > 0) broken.push(`${held} units are held by nobody's job`);
  return broken;
}

const soldFor = ({ id }: JobBody, { accepted }: Ledger) => accepted.filter(({ key }) => jobIdOf(key) === id);

function untrue(job: JobBody, sold: readonly VendorJob[]): string[] {
  const last = sold.at(-1)?.status;
  const says = `${job.feature} ${job.id} is ${job.status}, at the vendor ${last ?? 'unknown'}`;
  switch (job.status) {
    case 'succeeded':
      return last === 'succeeded' ? [] : [says];
    case 'failed':
      if (job.error?.code === 'failed_at_vendor') return last === 'failed' ? [] : [says];
      return last === undefined ? [] : [`${says}: ${job.error?.code}`];
    case 'canceled':
      return last === undefined || last === 'canceled' ? [] : [says];
    case 'queued':
    case 'dispatching':
    case 'running':
    case 'needs_attention':
      return [`${says}, and not at its end`];
  }
}

function unannounced({ id, status }: JobBody, events: readonly PublishedEvent[]): string[] {
  const type = announcements[status];
  const isHeard = events.some(({ detail, 'detail-type': said }) => detail.jobId === id && said === type);
  return isHeard || type === undefined ? [] : [`${type} of ${id} never reached the bus`];
}

/** What the vendor sold to nobody. */
function strangers({ ledger }: Books, byId: ReadonlyMap<string, JobBody>): string[] {
  return ledger.accepted.filter(({ key }) => !byId.has(jobIdOf(key))).map(({ key }) => `sold to nobody: ${key}`);
}
