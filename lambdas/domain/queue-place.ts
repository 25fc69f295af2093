import type { Catalogue } from './catalogue.ts';
import type { Job } from './job.ts';
import { freeUnits, type Lane } from './lane.ts';
import type { JobIndex, LaneStore } from './ports.ts';

/** Where a queued job stands. Both are what a glance shows, not a promise. */
export interface QueuePlace {
  /** Jobs that go first, counted up to `mostAhead`. */
  readonly ahead: number;
  /** Epoch ms; absent where nothing can be said: its lane is closed, too many go first, or its feature is gone. */
  readonly estimatedStartAt: number | undefined;
}

/**
 * Everybody who polls a long queue would else read most of it, each time, from the one partition of the index in which the
 * workers look for their next job.
 */
export const mostAhead = 200;

export interface QueuePlaceSources {
  readonly index: Pick<JobIndex, 'countAhead'>;
  readonly lanes: Pick<LaneStore, 'glance'>;
  readonly catalogue: Catalogue;
}

export async function queuePlace(job: Job, now: number, sources: QueuePlaceSources): Promise<QueuePlace | undefined> {
  if (job.state !== 'queued') return undefined;
  const [lane, ahead] = await Promise.all([
    sources.lanes.glance(job.lane),
    sources.index.countAhead(job.lane, job.rank, mostAhead),
  ]);
  const typicalRunMs = sources.catalogue.named(job.feature)?.typicalRunMs;
  return { ahead, estimatedStartAt: estimateStart(lane, ahead, now, typicalRunMs) };
}

function estimateStart(lane: Lane, ahead: number, now: number, typicalRunMs: number | undefined): number | undefined {
  if (lane.state !== 'open' || lane.cap === 0 || ahead >= mostAhead || typicalRunMs === undefined) return undefined;
  const free = freeUnits(lane);
  const runsBefore = ahead < free ? 0 : Math.floor((ahead - free) / lane.cap) + 1;
  return Math.max(now, lane.notBefore) + runsBefore * typicalRunMs;
}
