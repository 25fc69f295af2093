import { freeUnits, hasRoom, type Lane } from './lane.ts';
import { sweepLane } from './sweep-lane.ts';
import type { World } from './world.ts';

/** More rings than this in one tick would only find the lane full again. */
const mostRings = 100;

export interface LaneSeen {
  readonly lane: Lane;
  readonly queued: number;
  readonly swept: number;
}

/** One lane, one tick: sweeps its holds, then rings for what waits where there is room. */
export async function tendLane(world: World, name: string): Promise<LaneSeen> {
  const before = await world.lanes.takeOverCap(await world.lanes.read(name));
  const swept = await sweepLane(world, before);
  const lane = swept > 0 ? await world.lanes.read(name) : before;
  const queued = await world.index.countQueued(name);
  world.notices.note({ kind: 'lane_seen', lane, queued });
  if (queued > 0 && hasRoom(lane, world.clock.now())) await ringFor(world, lane);
  return { lane, queued, swept };
}

/** Each ring hints at another job, since the index that a worker asks may not know it yet. A tripped lane gets a probe. */
export async function ringFor(world: Pick<World, 'index' | 'doorbell'>, lane: Lane): Promise<number> {
  const room = lane.state === 'tripped' ? 1 : Math.min(mostRings, freeUnits(lane));
  if (room === 0) return 0;
  const ids = await world.index.queued(lane.lane, room);
  for (const id of ids) await world.doorbell.ring(lane.lane, id);
  return ids.length;
}
