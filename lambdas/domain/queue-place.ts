import type { Catalogue } from './catalogue.ts';
import type { Job } from './job.ts';
import { freeUnits, type Lane } from './lane.ts';
import type { JobIndex, LaneStore } from './ports.ts';

/** Where a queued job stands. Both are what a glance shows, not a promise. */
export interface QueuePlace {
  /** Jobs that go first; absent where it is farther back than anybody looks, or the index has not seen it yet. */
  readonly ahead: number | undefined;
  /** Epoch ms; absent where nothing can be said: its lane is closed, or its feature is no longer offered. */
  readonly estimatedStartAt: number | undefined;
}

export interface QueuePlaceSources {
  readonly index: Pick<JobIndex, 'queued'>;
  readonly lanes: Pick<LaneStore, 'glance'>;
  readonly catalogue: Catalogue;
}

const farthestPlace = 200;

/** The places of several jobs, each lane asked once. */
export async function queuePlaces(
  jobs: readonly Job[],
  now: number,
  sources: QueuePlaceSources,
): Promise<ReadonlyMap<string, QueuePlace>> {
  const waiting = jobs.filter((job) => job.state === 'queued');
  const lanes = await Promise.all([...new Set(waiting.map(({ lane }) => lane))].map((lane) => lookInto(lane, sources)));
  const seen = new Map(lanes.map((look) => [look.lane.lane, look]));
  return new Map(
    waiting.flatMap((job) => {
      const look = seen.get(job.lane);
      return look === undefined ? [] : [[job.id, placeIn(look, job, now, sources.catalogue)] as const];
    }),
  );
}

interface Look {
  readonly lane: Lane;
  readonly queue: readonly string[];
}

async function lookInto(name: string, { index, lanes }: QueuePlaceSources): Promise<Look> {
  const [lane, queue] = await Promise.all([lanes.glance(name), index.queued(name, farthestPlace)]);
  return { lane, queue };
}

function placeIn({ lane, queue }: Look, job: Job, now: number, catalogue: Catalogue): QueuePlace {
  const place = queue.indexOf(job.id);
  if (place < 0) return { ahead: undefined, estimatedStartAt: undefined };
  return {
    ahead: place,
    estimatedStartAt: estimateStart(lane, place, now, catalogue.named(job.feature)?.typicalRunMs),
  };
}

function estimateStart(lane: Lane, ahead: number, now: number, typicalRunMs: number | undefined): number | undefined {
  if (lane.state !== 'open' || lane.cap === 0 || typicalRunMs === undefined) return undefined;
  const free = freeUnits(lane);
  const runsBefore = ahead < free ? 0 : Math.floor((ahead - free) / lane.cap) + 1;
  return Math.max(now, lane.notBefore) + runsBefore * typicalRunMs;
}
