import type { FlagCode, Job } from './job.ts';
import { move } from './lifecycle.ts';
import { activeShards, type AuditStore } from './ports.ts';
import { recordEvidence } from './record-evidence.ts';
import { flagLost, flagUnknown } from './settle-job.ts';
import { nextTick } from './timing.ts';
import type { World } from './world.ts';

export interface RestoringWorld extends Pick<
  World,
  'clock' | 'jobs' | 'index' | 'lanes' | 'evidence' | 'feed' | 'notices'
> {
  readonly audit: AuditStore;
}

export interface Restored {
  readonly paused: readonly string[];
  readonly flagged: number;
  /** Moved on while they were looked at, or terminal: their state needs no doubt. */
  readonly left: number;
}

const code: FlagCode = 'restored';
const pageSize = 100;

/**
 * After a restore from a backup, everything that was not ended at the restored moment may have gone on since: a job that
 * is queued in the backup may have been sent and paid for. The lanes are paused first; then each such job is flagged,
 * and the vendor's word or a person decides. The vendor's job ids that the backup knows are asked for as ever.
 */
export async function markRestored(
  world: RestoringWorld,
  lanes: readonly string[],
  order: { readonly actor: string; readonly reason: string; readonly restoredTo: number },
): Promise<Restored> {
  const paused: string[] = [];
  for (const lane of lanes) if (await pause(world, lane, order)) paused.push(lane);
  let flagged = 0;
  let left = 0;
  for (let shard = 0; shard < activeShards; shard += 1) {
    let cursor: string | undefined;
    do {
      const page = await world.index.due(shard, Number.MAX_SAFE_INTEGER, cursor, pageSize);
      for (const { id } of page.items) {
        if (await flag(world, id, order.restoredTo)) flagged += 1;
        else left += 1;
      }
      cursor = page.next;
    } while (cursor !== undefined);
  }
  return { paused, flagged, left };
}

async function pause(
  world: RestoringWorld,
  name: string,
  { actor, reason }: { readonly actor: string; readonly reason: string },
): Promise<boolean> {
  const lane = await world.lanes.read(name);
  if (lane.state === 'paused') return true;
  const at = world.clock.now();
  await world.audit.add(`lane#${name}`, { at, actor, action: 'pause_restored', reason, detail: { was: lane.state } });
  const changed = await world.lanes.change(name, lane.since, { state: 'paused', by: actor, reason, at });
  return changed.kind === 'changed';
}

async function flag(world: RestoringWorld, id: string, restoredTo: number): Promise<boolean> {
  const read = await world.jobs.read(id);
  if (read?.kind !== 'job') return false;
  const { job } = read;
  const flagged = await flagAs(world, job);
  if (!flagged) return false;
  await recordEvidence(world, job, 'restored', { restoredTo, wasState: job.state, sends: job.sends });
  return true;
}

async function flagAs(world: RestoringWorld, job: Job): Promise<boolean> {
  switch (job.state) {
    case 'queued': {
      const now = world.clock.now();
      const change = { flag: { code, since: now }, maybeSent: true, checkAt: nextTick(now) };
      const moved = await world.jobs.move(move('flagRestored', job, change));
      if (moved.kind === 'refused') return false;
      world.notices.note({ kind: 'flagged', job: moved.job });
      world.feed.send(moved.job.followers, { type: 'job', job: moved.job });
      return true;
    }
    case 'dispatching':
      return (await flagUnknown(world, job, code)) !== undefined;
    case 'running':
      return (await flagLost(world, job, code)) !== undefined;
    case 'needs_attention':
    case 'succeeded':
    case 'failed':
    case 'canceled':
      return false;
    default:
      return job satisfies never;
  }
}
