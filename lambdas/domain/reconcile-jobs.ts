import { Copies } from './copies.ts';
import type { Job } from './job.ts';
import type { Lane } from './lane.ts';
import { activeShards, type Due } from './ports.ts';
import { tendJob, type Tick } from './tend-job.ts';
import { tendLane, type LaneSeen } from './tend-lane.ts';
import { VendorPace, type VendorBudget } from './vendor-pace.ts';
import type { Shift } from './watch-job.ts';
import type { World } from './world.ts';

const pageSize = 100;
/** Strong reads of one shard at once. */
const readsAtOnce = 16;
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
  const lanesHere = new Set(laneNames);
  const tick: Tick = { shift, pace, copies: new Copies(), lanes: lanesHere, laneOf: (name) => byName.get(name) };
  const shards = Array.from({ length: activeShards }, (_, shard) =>
    tendShard(world, tick, shard, startedAt, until, errors),
  );
  const seen = await Promise.all(shards);
  await world.feed.flush();
  return {
    lanes,
    looked: seen.reduce((sum, { looked }) => sum + looked, 0),
    oldestDueMs: Math.max(0, ...seen.map(({ oldest }) => (oldest === undefined ? 0 : startedAt - oldest))),
    flagged: await countFlagged(world, laneNames, errors),
    errors,
  };
}

async function tendLanes(world: World, names: readonly string[], errors: unknown[]): Promise<LaneSeen[]> {
  const seen: LaneSeen[] = [];
  for (const name of names) {
    try {
      seen.push(await tendLane(world, name));
    } catch (cause) {
      errors.push(new Error(`Lane ${name} could not be tended.`, { cause }));
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
  const reading = new Set<Promise<void>>();
  // Unbounded: what waits here stands in its own vendor's line, so that a silent vendor's jobs hold up no others.
  const tending: Promise<void>[] = [];
  const collect = (id: string, cause: unknown) =>
    void errors.push(new Error(`Job ${id} could not be tended.`, { cause }));
  const look = async (due: Due) => {
    const job = await readDue(world, due, startedAt);
    if (job === undefined) return;
    if (!tick.lanes.has(job.lane))
      errors.push(new Error(`Job ${job.id} is of lane ${job.lane}, which is not deployed.`));
    tending.push(tendJob(world, tick, job).catch((cause: unknown) => collect(job.id, cause)));
  };
  try {
    let cursor: string | undefined;
    do {
      const page = await world.index.due(shard, startedAt, cursor, pageSize);
      for (const due of page.items) {
        if (world.clock.now() >= until || tick.shift.signal.aborted) break;
        seen.looked += 1;
        seen.oldest ??= due.checkAt;
        const read = look(due)
          .catch((cause: unknown) => collect(due.id, cause))
          .finally(() => reading.delete(read));
        reading.add(read);
        if (reading.size >= readsAtOnce) await Promise.race(reading);
      }
      cursor = page.next;
    } while (cursor !== undefined && world.clock.now() < until && !tick.shift.signal.aborted);
  } catch (cause) {
    // Those that were read are tended to their end: a sandbox that is frozen over them could thaw in mid-write.
    errors.push(new Error(`Shard ${shard} could not be read to its end.`, { cause }));
  }
  await Promise.all(reading);
  await Promise.all(tending);
  return seen;
}

/** The index only hints: the job itself, read strongly, says whether it is due. */
async function readDue(world: World, due: Due, startedAt: number): Promise<Job | undefined> {
  const read = await world.jobs.read(due.id);
  if (read?.kind !== 'job') return undefined;
  const { job } = read;
  return job.checkAt > startedAt && job.announce === undefined ? undefined : job;
}

const mostCounted = 1_000;

async function countFlagged(
  world: World,
  lanes: readonly string[],
  errors: unknown[],
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const lane of lanes) {
    try {
      const page = await world.index.flagged(lane, undefined, mostCounted);
      counts[lane] = page.items.length;
    } catch (cause) {
      errors.push(new Error(`The flagged jobs of lane ${lane} could not be counted.`, { cause }));
    }
  }
  return counts;
}
