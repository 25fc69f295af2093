import type { Job, State } from './job.ts';
import type { JobIndex, JobStore } from './ports.ts';

export interface ListJobs {
  readonly owner: string;
  /** Absent: all. */
  readonly states: readonly State[] | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

export interface JobList {
  /** Newest first. */
  readonly jobs: readonly Job[];
  readonly next: string | undefined;
}

/** A filter that matches little must not make one request read an owner's whole history. */
const maxPages = 5;

/** The index says which; a strong read of each says what they are by now. A short list may still have a next one. */
export async function listJobs(
  { owner, states, cursor, limit }: ListJobs,
  { jobs, index }: { readonly jobs: Pick<JobStore, 'read'>; readonly index: Pick<JobIndex, 'ofOwner'> },
): Promise<JobList> {
  const listed: Job[] = [];
  let next = cursor;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const page = await index.ofOwner(owner, states, next, limit - listed.length);
    const reads = await Promise.all(page.items.map((id) => jobs.read(id)));
    for (const read of reads) {
      if (read?.kind === 'job' && (states === undefined || states.includes(read.job.state))) listed.push(read.job);
    }
    ({ next } = page);
    if (next === undefined || listed.length >= limit) break;
  }
  return { jobs: listed, next };
}
