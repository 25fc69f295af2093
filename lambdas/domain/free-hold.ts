import type { Hold } from './job.ts';
import type { World } from './world.ts';

/**
 * Always both: the unit goes, then the lane is rung, since a job may be waiting for it. Only after the write that
 * unbound it, so that a crash in between leaves an unbound hold (which the sweep frees) and never an unheld job.
 */
export async function freeHold(
  world: Pick<World, 'lanes' | 'doorbell'>,
  lane: string,
  hold: Hold | undefined,
  delayMs?: number,
): Promise<void> {
  if (hold !== undefined) await world.lanes.free(lane, hold.token);
  await world.doorbell.ring(lane, undefined, delayMs);
}
