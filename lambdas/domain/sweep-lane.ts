import type { Job } from './job.ts';
import { isTerminal } from './job.ts';
import { minHoldAgeMs, type HeldUnit, type Lane } from './lane.ts';
import { move } from './lifecycle.ts';
import type { World } from './world.ts';

/**
 * Frees the holds that no job is bound to: their worker died between hold and claim, or between unbinding and freeing.
 * The lane was read first, each job is read after it, strongly: a job that looks unbound then is.
 */
export async function sweepLane(world: World, lane: Lane): Promise<number> {
  const now = world.clock.now();
  const old = Object.entries(lane.held).filter(([, unit]) => now - unit.acquiredAt >= minHoldAgeMs);
  let swept = 0;
  for (const [token, unit] of old) {
    if (!(await isFree(world, token, unit))) continue;
    await world.lanes.free(lane.lane, token);
    world.notices.note({ kind: 'swept', lane: lane.lane, jobId: unit.jobId });
    swept += 1;
  }
  if (swept > 0) await world.doorbell.ring(lane.lane, undefined);
  return swept;
}

async function isFree(world: World, token: string, unit: HeldUnit): Promise<boolean> {
  const read = await world.jobs.read(unit.jobId);
  if (read?.kind !== 'job') return true;
  const job: Job = read.job;
  if (job.hold?.token === token) return false;
  if (isTerminal(job.state) || job.attempt >= unit.attempt || job.state !== 'queued') return true;
  // Its worker may only be slow: raising the attempt makes its claim fail, and only then may its hold go.
  const fenced = await world.jobs.move(move('fence', job, {}));
  return fenced.kind === 'moved';
}
