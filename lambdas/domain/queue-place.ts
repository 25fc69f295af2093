import type { Catalogue } from './catalogue.ts';
import type { Job } from './job.ts';
import { freeUnits, type Lane } from './lane.ts';
import type { JobIndex, LaneStore } from './ports.ts';

/** Where a queued job stands. Both are what a glance shows, not a promise. */
export interface QueuePlace {
  /** Jobs that go first. */
  readonly ahead: number;
  /** Epoch ms; absent where nothing can be said: its lane is closed, or its feature is no longer offered. */
  readonly estimatedStartAt: number | undefined;
}

export interface QueuePlaceSources {
  readonly index: Pick<JobIndex, 'countAhead'>;
  readonly lanes: Pick<LaneStore, 'glance'>;
  readonly catalogue: Catalogue;
}

export async function queuePlace(job: Job, now: number, sources: QueuePlaceSources): Promise<QueuePlace | undefined> {
  if (job.state !== 'queued') return undefined;
  const [lane, ahead] = await Promise.all([
    sources.lanes.glance(job.lane),
    sources.index.countAhead(job.lane, job.rank),
  ]);
  const typicalRunMs = sources.catalogue.named(job.feature)?.typicalRunMs;
  return { ahead, estimatedStartAt: estimateStart(lane, ahead, now, typicalRunMs) };
}

function estimateStart(lane: Lane, ahead: number, now: number, typicalRunMs: number | undefined): number | undefined {
  if (lane.state !== 'open' || lane.cap === 0 || typicalRunMs === undefined) return undefined;
  const free = freeUnits(lane);
  const runsBefore = ahead < free ? 0 : Math.floor((ahead - free) / lane.cap) + 1;
  return Math.max(now, lane.notBefore) + runsBefore * typicalRunMs;
}
