import type { Lane, LaneState } from './lane.ts';
import type { AuditStore } from './ports.ts';
import { ringFor } from './tend-lane.ts';
import type { World } from './world.ts';

export interface LaneOrder {
  readonly lane: string;
  readonly cap: number | undefined;
  readonly state: Exclude<LaneState, 'tripped'> | undefined;
  readonly reason: string;
  readonly actor: string;
}

export type LaneChanged =
  | { readonly kind: 'changed'; readonly lane: Lane }
  | { readonly kind: 'over_ceiling'; readonly ceiling: number }
  | { readonly kind: 'moved_on'; readonly lane: Lane };

/**
 * Cap and state at run time. Lowering drains: what runs goes on, nothing new begins until there is room. Opening and
 * raising ring for what waits: nobody else would before the next tick.
 */
export async function changeLane(
  world: Pick<World, 'clock' | 'lanes' | 'index' | 'doorbell'> & { readonly audit: AuditStore },
  order: LaneOrder,
  ceiling: number,
): Promise<LaneChanged> {
  if (order.cap !== undefined && order.cap > ceiling) return { kind: 'over_ceiling', ceiling };
  const before = await world.lanes.read(order.lane);
  const at = world.clock.now();
  const { actor, reason } = order;
  const detail = { cap: order.cap ?? null, state: order.state ?? null, wasCap: before.cap, wasState: before.state };
  await world.audit.add(`lane#${order.lane}`, { at, actor, action: 'change_lane', reason, detail });
  const changed = await world.lanes.change(order.lane, before.since, {
    ...(order.cap === undefined ? {} : { cap: order.cap }),
    ...(order.state === undefined ? {} : { state: order.state }),
    by: actor,
    reason,
    at,
  });
  if (changed.kind === 'moved_on') return { kind: 'moved_on', lane: await world.lanes.read(order.lane) };
  if (changed.lane.state === 'open') await ringFor(world, changed.lane);
  return changed;
}
