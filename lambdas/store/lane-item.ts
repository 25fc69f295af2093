import * as z from 'zod';
import type { Lane } from '../domain/lane.ts';
import type { PlainItem } from './conditional-write.ts';
import type { Key } from './item.ts';

/** A lane's one item, under the names of its fields: a hold rewrites it a few times per job, not per tick. */

const heldUnit = z.object({ jobId: z.string(), attempt: z.number(), acquiredAt: z.number() });

const laneItem = z.object({
  lane: z.string(),
  cap: z.number(),
  /** Absent in what was written before it was kept. */
  deployedCap: z.number().default(0),
  state: z.enum(['open', 'paused', 'tripped']),
  by: z.string(),
  reason: z.string(),
  since: z.number(),
  notBefore: z.number(),
  held: z.record(z.string(), heldUnit),
  virtualTime: z.number(),
  closedMs: z.number(),
}) satisfies z.ZodType<Lane>;

export function laneKey(lane: string): Key {
  return { pk: `lane#${lane}`, sk: 'lane' };
}

export function laneOf(item: PlainItem): Lane {
  return laneItem.parse(item);
}

/** What a lane is before anybody used or changed it. */
export function newLane(lane: string, cap: number): Lane {
  return {
    lane,
    cap,
    deployedCap: cap,
    state: 'open',
    by: 'deployment',
    reason: 'not changed since it was deployed',
    since: 0,
    notBefore: 0,
    held: {},
    virtualTime: 0,
    closedMs: 0,
  };
}
