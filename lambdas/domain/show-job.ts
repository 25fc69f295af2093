import type { Job } from './job.ts';
import type { Clock, JobStore } from './ports.ts';
import { queuePlaces, type QueuePlace, type QueuePlaceSources } from './queue-place.ts';
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

export async function showJobs(jobs: readonly Job[], world: ShowJobWorld): Promise<readonly ShownJob[]> {
  const places = await queuePlaces(jobs, world.clock.now(), world);
  return Promise.all(
    jobs.map(async (job) => {
      const [request, links] = await Promise.all([
        world.jobs.readRequest(job.id, job.submitToken),
        resultLinks(job, world.files),
      ]);
      const price = world.prices(job.vendor);
      return { job, place: places.get(job.id), metadata: request?.metadata, links, price };
    }),
  );
}

export async function showJob(job: Job, world: ShowJobWorld): Promise<ShownJob> {
  const [shown] = await showJobs([job], world);
  if (shown === undefined) throw new Error('A job that was given must be shown.');
  return shown;
}
