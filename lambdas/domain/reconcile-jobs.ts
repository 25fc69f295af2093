import type { Lane } from './lane.ts';
import { activeShards, type Due } from './ports.ts';
import { tendJob, type Tick } from './tend-job.ts';
import { tendLane, type LaneSeen } from './tend-lane.ts';
import { VendorPace, type VendorBudget } from './vendor-pace.ts';
import type { Shift } from './watch-job.ts';
import type { World } from './world.ts';

const pageSize = 100;
/** Jobs of one shard that are looked at at once: enough that a silent vendor's don't hold up the others'. */
const looksAtOnce = 250;
/** What a tick needs to come to its end in order. */
const closingMs = 8_000;

export interface TickReport {
  readonly lanes: readonly LaneSeen[];
  readonly looked: number;
  /** How long the oldest job that was due had been due. */
  readonly oldestDueMs: number;
  readonly flagged: Readonly<Record<string, number>>;
  /** Each is a job or a lane that could not be tended; the others were. */
  readonly errors: readonly unknown[];
}

/**
 * One tick of the schedule: every lane, then every job that is due, oldest first. Bounded in time; what is left stays
 * due. Ticks may overlap, repeat and stop half-way: every write is conditional on what was read.
 */
export async function reconcileJobs(
  world: World,
  laneNames: readonly string[],
  budgets: ReadonlyMap<string, VendorBudget>,
  shift: Shift,
): Promise<TickReport> {
  const startedAt = world.clock.now();
  const errors: unknown[] = [];
  const lanes = await tendLanes(world, laneNames, errors);
  const byName = new Map<string, Lane>(lanes.map(({ lane }) => [lane.lane, lane]));
  const until = shift.endsAt - closingMs;
  const pace = new VendorPace(world.clock, world.waiting, budgets, until, shift.signal);
  const tick: Tick = { shift, pace, laneOf: (name) => byName.get(name) };
  const shards = Array.from({ length: activeShards }, (_, shard) =>
    tendShard(world, tick, shard, startedAt, until, errors),
  );
  const seen = await Promise.all(shards);
  await world.feed.flush();
  return {
    lanes,
    looked: seen.reduce((sum, { looked }) => sum + looked, 0),
    oldestDueMs: Math.max(0, ...seen.map(({ oldest }) => (oldest === undefined ? 0 : startedAt - oldest))),
    flagged: await countFlagged(world, laneNames),
    errors,
  };
}

async function tendLanes(world: World, names: readonly string[], errors: unknown[]): Promise<LaneSeen[]> {
  const seen: LaneSeen[] = [];
  for (const name of names) {
    try {
      seen.push(await tendLane(world, name));
    } catch (error) {
      errors.push(error);
    }
  }
  return seen;
}

interface ShardSeen {
  looked: number;
  oldest: number | undefined;
}

async function tendShard(
  world: World,
  tick: Tick,
  shard: number,
  startedAt: number,
  until: number,
  errors: unknown[],
): Promise<ShardSeen> {
  const seen: ShardSeen = { looked: 0, oldest: undefined };
  const underWay = new Set<Promise<void>>();
  let cursor: string | undefined;
  do {
    const page = await world.index.due(shard, startedAt, cursor, pageSize);
    for (const due of page.items) {
      if (world.clock.now() >= until || tick.shift.signal.aborted) break;
      seen.looked += 1;
      seen.oldest ??= due.checkAt;
      const look = tendDue(world, tick, due)
        .catch((error: unknown) => void errors.push(error))
        .finally(() => underWay.delete(look));
      underWay.add(look);
      if (underWay.size >= looksAtOnce) await Promise.race(underWay);
    }
    cursor = page.next;
  } while (cursor !== undefined && world.clock.now() < until && !tick.shift.signal.aborted);
  await Promise.all(underWay);
  return seen;
}

/** The index only hints: the job itself, read strongly, says whether it is due. */
async function tendDue(world: World, tick: Tick, due: Due): Promise<void> {
  const read = await world.jobs.read(due.id);
  if (read?.kind !== 'job') return;
  if (read.job.checkAt > world.clock.now() && read.job.announce === undefined) return;
  await tendJob(world, tick, read.job);
}

const mostCounted = 1_000;

async function countFlagged(world: World, lanes: readonly string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const lane of lanes) {
    const page = await world.index.flagged(lane, undefined, mostCounted);
    counts[lane] = page.items.length;
  }
  return counts;
}
