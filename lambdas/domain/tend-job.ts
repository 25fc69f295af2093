import { applyWord, type Applied } from './apply-word.ts';
import { accept } from './accept-job.ts';
import { announce } from './announce-job.ts';
import type { Copies } from './copies.ts';
import { freeHold } from './free-hold.ts';
import { isTerminal, type FlagCode, type Job } from './job.ts';
import { closedMsUntil, type Lane } from './lane.ts';
import { move } from './lifecycle.ts';
import { lookUp } from './look-up.ts';
import { cantBeRunningFrom } from './money-rule.ts';
import { recordEvidence, recordOnce } from './record-evidence.ts';
import { settleLostSend } from './send-job.ts';
import { expire, flagLost, flagUnknown } from './settle-job.ts';
import { askTimeoutMs, nextTick } from './timing.ts';
import { isLastWord, type Vendor, type VendorResult, type VendorWord } from './vendor.ts';
import type { VendorPace } from './vendor-pace.ts';
import type { Shift } from './watch-job.ts';
import type { World } from './world.ts';

/** What a tick works with besides the world. */
export interface Tick {
  readonly shift: Shift;
  readonly pace: VendorPace;
  readonly copies: Copies;
  /**
   * Those of the deployment. A job of another one is tended all the same, and told of each time: it is in no list of
   * flagged jobs, and no worker hears a ring for it.
   */
  readonly lanes: ReadonlySet<string>;
  /** As read at the tick's start; undefined: a lane that this deployment no longer has, or that could not be read now. */
  readonly laneOf: (lane: string) => Lane | undefined;
}

/** Copying a result may take longer than a question. */
const copyTimeoutMs = 25_000;

/**
 * One look at one job that is due. A tick goes on with the job that it moved, so that one interval is one tick. A bus that
 * doesn't answer must not keep the job from its truth: that is told of last.
 */
export async function tendJob(world: World, tick: Tick, due: Job): Promise<void> {
  const [announced] = await Promise.allSettled([announce(world, due)]);
  if (announced.status === 'fulfilled') return await tendAnnounced(world, tick, { ...due, announce: undefined });
  await tendAnnounced(world, tick, due);
  // Not for ever the first in its shard: while the bus is silent, ended jobs must not stand before those that run.
  if (isTerminal(due.state)) await lookAgain(world, due, nextTick(world.clock.now()));
  throw announced.reason;
}

async function tendAnnounced(world: World, tick: Tick, job: Job): Promise<void> {
  switch (job.state) {
    case 'queued':
      return await tendQueued(world, tick, job);
    case 'dispatching':
      return await tendDispatching(world, tick, job);
    case 'running':
      return await tendRunning(world, tick, job);
    case 'needs_attention':
      return await tendFlagged(world, tick, job);
    case 'failed':
      return await tendFailed(world, tick, job);
    case 'succeeded':
    case 'canceled':
      return undefined;
    default:
      return job satisfies never;
  }
}

/** Moves the next look on, iff nobody moved the job meanwhile: whoever did set its own. */
async function lookAgain(world: World, job: Job, checkAt: number): Promise<void> {
  await world.jobs.move(move('look', job, { checkAt }));
}

async function tendQueued(world: World, tick: Tick, job: Job<'queued'>): Promise<void> {
  const now = world.clock.now();
  const lane = tick.laneOf(job.lane);
  // Not read this time: nobody can say how long the job's clock stood still. Of a lane that is gone, none will.
  if (lane === undefined && tick.lanes.has(job.lane)) return await lookAgain(world, job, nextTick(now));
  const closedMs = lane === undefined ? 0 : Math.max(0, closedMsUntil(lane, now) - job.laneClosedMs);
  const leftMs = job.maxQueueMs - (now - job.queuedAt - closedMs);
  if (leftMs <= 0) await expire(world, job);
  else await lookAgain(world, job, now + leftMs);
}

async function tendDispatching(world: World, tick: Tick, job: Job<'dispatching'>): Promise<void> {
  const now = world.clock.now();
  await checkHold(world, tick, job);
  if (now <= job.dispatchBy) return await lookAgain(world, job, nextTick(job.dispatchBy));
  const vendor = world.vendors.named(job.vendor);
  if (vendor === undefined) return await withoutVendor(world, job);
  await tick.pace.run(job.vendor, async () => await settleLostSend(world, vendor, job, tick.shift, 'reconciler'));
  const parked = await reread(world, job);
  if (parked?.state === 'needs_attention') return await freeIfOver(world, vendor, parked);
  if (parked !== undefined && parked.version === job.version) await lookAgain(world, job, nextTick(now));
}

async function tendRunning(world: World, tick: Tick, job: Job<'running'>): Promise<void> {
  const now = world.clock.now();
  await checkHold(world, tick, job);
  if ((job.watchUntil ?? 0) > now) return await lookAgain(world, job, job.watchUntil ?? now);
  const vendor = world.vendors.named(job.vendor);
  if (vendor === undefined) return await withoutVendor(world, job);
  const applied = await ask(world, tick, vendor, job, job.vendorJobId);
  if (applied === undefined) return undefined;
  switch (applied.kind) {
    case 'settled':
    case 'moved_on':
      return undefined;
    case 'flagged':
      return await freeIfOver(world, vendor, applied.job);
    case 'pending':
    case 'unreachable':
      return await stillRunning(world, vendor, job, applied);
    default:
      return applied satisfies never;
  }
}

/** Its watch is over, the vendor works on it or doesn't answer: a worker takes it up, until its deadline. */
async function stillRunning(
  world: World,
  vendor: Vendor,
  job: Job<'running'>,
  applied: Applied & { kind: 'pending' | 'unreachable' },
): Promise<void> {
  const now = world.clock.now();
  if (now >= job.runUntil) {
    const said = applied.kind === 'unreachable' ? applied.message : 'still working';
    await recordEvidence(world, job, 'overdue', { vendorJobId: job.vendorJobId, runUntil: job.runUntil, said });
    const flagged = await flagLost(world, job, 'overdue');
    if (flagged !== undefined) await freeIfOver(world, vendor, flagged);
    return;
  }
  await lookAgain(world, job, nextTick(now));
  await world.doorbell.ring(job.lane, job.id);
}

async function tendFlagged(world: World, tick: Tick, job: Job<'needs_attention'>): Promise<void> {
  const vendor = world.vendors.named(job.vendor);
  if (vendor === undefined) return await withoutVendor(world, job);
  const applied =
    job.vendorJobId === undefined
      ? await find(world, tick, vendor, job)
      : await askFlagged(world, tick, vendor, job, job.vendorJobId);
  const now = await reread(world, job);
  if (now?.state !== 'needs_attention') return;
  // It ended, and its picture can't be had: it stays parked, but nothing runs.
  if (applied?.hasEnded === true && now.hold !== undefined) return await unbindAndFree(world, now);
  await freeIfOver(world, vendor, now);
}

/** Ours to decide no more: a person has to, whatever the vendor says to our key. */
const personsOwn: ReadonlySet<FlagCode> = new Set(['vendor_job_conflict', 'result_lost']);

/** A receipt was had where its picture was lost or was another job's: absence would then prove nothing. */
async function find(world: World, tick: Tick, vendor: Vendor, job: Job<'needs_attention'>): Promise<undefined> {
  if (vendor.find === undefined || personsOwn.has(job.flag.code)) return;
  await tick.pace.run(job.vendor, async () => await lookUp(world, vendor, job, tick.shift.signal));
}

async function askFlagged(
  world: World,
  tick: Tick,
  vendor: Vendor,
  job: Job<'needs_attention'>,
  vendorJobId: string,
): Promise<Asked | undefined> {
  const applied = await ask(world, tick, vendor, job, vendorJobId);
  if (applied !== undefined && applied.kind !== 'settled')
    await recordOnce(world, job, 'asked', { vendorJobId, said: applied.said });
  if (applied?.isWorking !== true) return applied;
  if (job.hold === undefined) {
    world.notices.note({ kind: 'running_without_hold', job });
    return applied;
  }
  // Overdue, it would only be parked again.
  const isOverdue = world.clock.now() >= (job.runUntil ?? Number.POSITIVE_INFINITY);
  if (personsOwn.has(job.flag.code) || isOverdue) return applied;
  const accepted = await accept(world, job, vendorJobId, world.clock.now());
  if (accepted.kind === 'running') await world.doorbell.ring(job.lane, job.id);
  return applied;
}

/** Failed by a person, its hold kept: freed on the vendor's terminal word, or once it can't be running. */
async function tendFailed(world: World, tick: Tick, job: Job<'failed'>): Promise<void> {
  if (job.hold === undefined) return;
  const vendor = world.vendors.named(job.vendor);
  if (vendor === undefined) return await withoutVendor(world, job);
  const id = job.vendorJobId;
  const word =
    id === undefined
      ? undefined
      : await tick.pace.run(job.vendor, () => vendor.ask(id, askSignal(world, tick, askTimeoutMs)));
  if (isLastWord(word)) await unbindAndFree(world, job);
  else await freeIfOver(world, vendor, job);
}

type Asked = Applied & {
  readonly said: VendorWord['kind'];
  readonly isWorking: boolean;
  readonly hasEnded: boolean;
};

/** Undefined: there was no time left for it. */
async function ask(
  world: World,
  tick: Tick,
  vendor: Vendor,
  job: Job<'running' | 'needs_attention'>,
  vendorJobId: string,
): Promise<Asked | undefined> {
  const word = await tick.pace.run(job.vendor, async (): Promise<VendorWord> => {
    if (job.cancelRequestedAt !== undefined) await vendor.cancel(vendorJobId, askSignal(world, tick, askTimeoutMs));
    return await vendor.ask(vendorJobId, askSignal(world, tick, askTimeoutMs));
  });
  if (word === undefined) return undefined;
  const apply = async () => await applyWord(world, job, vendor, word, askSignal(world, tick, copyTimeoutMs));
  // Not in the vendor's line: whoever waits for a place among the copies of all vendors must not hold up its questions.
  const applied = word.kind === 'succeeded' ? await copyInTurn(world, tick, job, word.result, apply) : await apply();
  if (applied === undefined) return undefined;
  return { ...applied, said: word.kind, isWorking: word.kind === 'pending', hasEnded: isLastWord(word) };
}

/** A worker is rung for what runs and has to wait. Should none come, it is this tick's all the same. */
async function copyInTurn(
  world: World,
  tick: Tick,
  job: Job<'running' | 'needs_attention'>,
  result: VendorResult,
  copy: () => Promise<Applied>,
): Promise<Applied | undefined> {
  if (!tick.copies.isFull) return await tick.copies.run(copy);
  const rings = job.state === 'running' ? [world.doorbell.ring(job.lane, job.id)] : [];
  const [rung] = await Promise.allSettled(rings);
  // Nobody waits with a picture in memory: whose answer was the picture is asked again by the next tick.
  const applied = result.kind === 'bytes' ? undefined : await tick.copies.run(() => copyIfLeft(world, tick, job, copy));
  // A bell that can't be reached must not keep the job from its truth: that is told of last.
  if (rung?.status === 'rejected') throw rung.reason;
  return applied;
}

async function copyIfLeft(
  world: World,
  tick: Tick,
  job: Job<'running' | 'needs_attention'>,
  copy: () => Promise<Applied>,
): Promise<Applied | undefined> {
  if (tick.shift.signal.aborted) return undefined;
  const now = await reread(world, job);
  const isTaken = now?.state !== job.state || now.attempt !== job.attempt;
  return isTaken ? { kind: 'moved_on' } : await copy();
}

function askSignal(world: World, tick: Tick, timeoutMs: number): AbortSignal {
  return AbortSignal.any([tick.shift.signal, world.waiting.deadline(timeoutMs)]);
}

/** The hold goes once the job can't be running at the vendor: unbound in the job first, then freed in the lane. */
async function freeIfOver(world: World, vendor: Vendor, job: Job<'needs_attention' | 'failed'>): Promise<void> {
  const now = world.clock.now();
  const from = cantBeRunningFrom(job, vendor.traits);
  if (job.hold !== undefined && from !== undefined && now >= from) return await unbindAndFree(world, job);
  await lookAgain(world, job, nextTick(now));
}

export async function unbindAndFree(world: World, job: Job<'needs_attention' | 'failed'>): Promise<void> {
  const moved = await world.jobs.move(move('unbind', job, { checkAt: nextTick(world.clock.now()) }));
  if (moved.kind === 'moved') await freeHold(world, job.lane, moved.unbound);
}

/** Nobody can be asked: what is past its deadline is a person's then, as where the vendor doesn't answer. */
async function withoutVendor(world: World, job: Job): Promise<void> {
  world.notices.note({ kind: 'vendor_not_configured', job });
  const now = world.clock.now();
  const detail = { vendor: job.vendor, said: 'The vendor is not configured in this deployment.' };
  if (job.state === 'dispatching') {
    await recordEvidence(world, job, 'worker_lost', { ...detail, sendBy: job.sendBy, sends: job.sends });
    await flagUnknown(world, job, 'worker_lost');
  } else if (job.state === 'running' && now >= job.runUntil) {
    await recordEvidence(world, job, 'overdue', { ...detail, vendorJobId: job.vendorJobId, runUntil: job.runUntil });
    await flagLost(world, job, 'overdue');
  } else {
    await lookAgain(world, job, nextTick(now));
  }
}

async function reread(world: World, job: Job): Promise<Job | undefined> {
  const read = await world.jobs.read(job.id);
  return read?.kind === 'job' ? read.job : undefined;
}

/** In flight without its unit is never legal; the lane is read again, then the job, before anybody is woken. */
async function checkHold(world: World, tick: Tick, job: Job<'dispatching' | 'running'>): Promise<void> {
  if (tick.laneOf(job.lane)?.held[job.hold.token] !== undefined) return;
  const lane = await world.lanes.read(job.lane);
  if (lane.held[job.hold.token] !== undefined) return;
  const again = await reread(world, job);
  if (again !== undefined && again.version === job.version) world.notices.note({ kind: 'hold_missing', job });
}
