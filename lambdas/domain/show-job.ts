import type { Job } from './job.ts';
import type { Clock, JobStore } from './ports.ts';
import { queuePlace, type QueuePlace, type QueuePlaceSources } from './queue-place.ts';
import { resultLinks, type ResultLink, type ResultLinkSigner } from './result-link.ts';
import type { JsonObject } from './vendor.ts';

/** What one accepted job of a vendor costs. */
export interface Price {
  readonly amount: number;
  readonly currency: string;
}

/** A job with what is shown beside it. */
export interface ShownJob {
  readonly job: Job;
  /** Absent where the job isn't queued, or nobody looked. */
  readonly place: QueuePlace | undefined;
  readonly metadata: JsonObject | undefined;
  /** One for each result, in order. */
  readonly links: readonly ResultLink[];
  readonly price: Price | undefined;
}

export interface ShowJobWorld extends QueuePlaceSources {
  readonly jobs: Pick<JobStore, 'readRequest'>;
  readonly files: ResultLinkSigner;
  readonly prices: (vendor: string) => Price | undefined;
  readonly clock: Clock;
}

export async function showJob(job: Job, world: ShowJobWorld): Promise<ShownJob> {
  const now = world.clock.now();
  const [request, links, place] = await Promise.all([
    world.jobs.readRequest(job.id, job.submitToken),
    resultLinks(job, world.files, now),
    queuePlace(job, now, world),
  ]);
  return { job, place, metadata: request?.metadata, links, price: world.prices(job.vendor) };
}
