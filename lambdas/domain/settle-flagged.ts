import { accept } from './accept-job.ts';
import { applyWord } from './apply-word.ts';
import { announce } from './announce-job.ts';
import { jobInVendorKey, vendorKeyOf, type Job } from './job.ts';
import { closedMsUntil } from './lane.ts';
import { move } from './lifecycle.ts';
import { canReplay, cantBeRunningFrom } from './money-rule.ts';
import type { AuditStore } from './ports.ts';
import { ending } from './settle-job.ts';
import { unbindAndFree } from './tend-job.ts';
import { askTimeoutMs, nextTick } from './timing.ts';
import { isLastWord, type Identified, type Vendor, type VendorWord } from './vendor.ts';
import type { World } from './world.ts';

/** What a person may do with a job that waits for one. */
export type Settling =
  /** "The vendor has it, under this id." Checked with the vendor. */
  | { readonly action: 'adopt'; readonly vendorJobId: string }
  /** The same vendor key again, where the vendor replays the original. */
  | { readonly action: 'retake' }
  /** A new purchase. `notRunning`: the person vouches that the old one can't be running. */
  | { readonly action: 'resend'; readonly notRunning: boolean }
  | { readonly action: 'fail'; readonly notRunning: boolean };

export interface Order {
  readonly jobId: string;
  /** As the person saw it: an order about an older generation is refused. */
  readonly generation: number;
  readonly reason: string;
  readonly actor: string;
  readonly settling: Settling;
  /** Says what would happen, and changes nothing. */
  readonly dryRun: boolean;
}

export type Settled =
  | { readonly kind: 'done'; readonly job: Job }
  /** Dry run: nothing stands against it. */
  | { readonly kind: 'would' }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'moved_on'; readonly job: Job | undefined }
  /** `allowedFrom`: epoch ms from which a resend is allowed; absent: only on the vendor's word, or a person's. */
  | { readonly kind: 'still_may_run'; readonly allowedFrom: number | undefined }
  | { readonly kind: 'cannot_retake'; readonly why: string }
  | { readonly kind: 'vendor_job_unknown' }
  /** By our link, or by the key that the vendor took it under. `jobId` is undefined where that key is none of ours. */
  | { readonly kind: 'vendor_job_owned'; readonly jobId: string | undefined }
  | { readonly kind: 'vendor_unreachable'; readonly message: string }
  | { readonly kind: 'vendor_not_configured' };

export interface OperatorWorld extends World {
  readonly audit: AuditStore;
}

export async function settleFlagged(world: OperatorWorld, order: Order): Promise<Settled> {
  const read = await world.jobs.read(order.jobId);
  if (read?.kind !== 'job') return { kind: 'not_found' };
  const job = read.job;
  if (job.generation !== order.generation) return { kind: 'moved_on', job };
  const vendor = world.vendors.named(job.vendor);
  if (vendor === undefined && order.settling.action !== 'fail') return { kind: 'vendor_not_configured' };
  switch (order.settling.action) {
    case 'adopt':
      return await adopt(world, order, order.settling.vendorJobId, job, vendor);
    case 'retake':
      return await retake(world, order, job, vendor);
    case 'resend':
      return await resend(world, order, order.settling.notRunning, job, vendor);
    case 'fail':
      return await fail(world, order, order.settling.notRunning, job, vendor);
    default:
      return order.settling satisfies never;
  }
}

/** Before the write that it tells of: an act without its record is worse than a record of an act that was refused. */
async function audit(world: OperatorWorld, order: Order): Promise<void> {
  const { actor, reason, generation } = order;
  const { action, ...detail } = order.settling;
  await world.audit.add(order.jobId, {
    at: world.clock.now(),
    actor,
    action,
    reason,
    detail: { generation, ...detail },
  });
}

function bounded(world: OperatorWorld): AbortSignal {
  return world.waiting.deadline(askTimeoutMs);
}

async function adopt(
  world: OperatorWorld,
  order: Order,
  vendorJobId: string,
  job: Job,
  vendor: Vendor | undefined,
): Promise<Settled> {
  if (job.state !== 'needs_attention' || vendor === undefined) return { kind: 'moved_on', job };
  if (job.vendorJobId !== undefined && job.vendorJobId !== vendorJobId) return { kind: 'moved_on', job };
  const owner = await world.jobs.vendorJobOwner(job.vendor, vendorJobId);
  if (owner !== undefined && !(owner.jobId === job.id && owner.generation === job.generation)) {
    return { kind: 'vendor_job_owned', jobId: owner.jobId };
  }
  const { word, vendorKey } = await identify(vendor, vendorJobId, bounded(world));
  if (word.kind === 'gone') return { kind: 'vendor_job_unknown' };
  if (word.kind === 'unreachable') return { kind: 'vendor_unreachable', message: word.message };
  // A slip of the hand would show one user another one's picture.
  if (vendorKey !== undefined && vendorKey !== vendorKeyOf(job)) {
    return { kind: 'vendor_job_owned', jobId: jobInVendorKey(vendorKey) };
  }
  if (order.dryRun) return { kind: 'would' };
  await audit(world, order);
  const accepted = await accept(world, job, vendorJobId, world.clock.now());
  if (accepted.kind === 'flagged') return { kind: 'vendor_job_owned', jobId: job.id };
  if (accepted.kind === 'moved_on') return { kind: 'moved_on', job: accepted.actual };
  const applied = await applyWord(world, accepted.job, vendor, word, bounded(world));
  if (applied.kind === 'settled' || applied.kind === 'flagged') return { kind: 'done', job: applied.job };
  await world.doorbell.ring(job.lane, job.id);
  return { kind: 'done', job: accepted.job };
}

async function identify(vendor: Vendor, vendorJobId: string, signal: AbortSignal): Promise<Identified> {
  if (vendor.identify !== undefined) return await vendor.identify(vendorJobId, signal);
  return { word: await vendor.ask(vendorJobId, signal), vendorKey: undefined };
}

async function retake(world: OperatorWorld, order: Order, job: Job, vendor: Vendor | undefined): Promise<Settled> {
  if (job.state !== 'needs_attention' || vendor === undefined) return { kind: 'moved_on', job };
  const now = world.clock.now();
  const why = whyNotRetake(job, vendor, now);
  if (why !== undefined) return { kind: 'cannot_retake', why };
  if (order.dryRun) return { kind: 'would' };
  await audit(world, order);
  // Nobody sends by this write: it is past its own deadline, and a worker's retake follows the ring.
  const times = { sendBy: now, dispatchBy: now, checkAt: nextTick(now) };
  const moved = await world.jobs.move(
    move('retakeParked', job, { claimToken: world.tokens.next(), maybeSent: true, ...times }),
  );
  if (moved.kind === 'refused') return { kind: 'moved_on', job: moved.actual };
  tell(world, moved.job, 'retakeParked');
  await world.doorbell.ring(job.lane, job.id, 1_000);
  return { kind: 'done', job: moved.job };
}

function whyNotRetake(job: Job<'needs_attention'>, vendor: Vendor, now: number): string | undefined {
  if (vendor.traits.dedupe !== 'replay')
    return 'This vendor does not return the original for the same key: it would buy again.';
  if (job.vendorJobId !== undefined) return 'The vendor has confirmed that it took it: there is nothing to send.';
  if (job.hold === undefined) return 'Its unit of the lane was freed: only a resend is possible.';
  if (job.cancelRequestedAt !== undefined) return 'Its owner asked to cancel it.';
  if (!canReplay(job, vendor.traits, now)) return 'The vendor may have forgotten the key.';
  return undefined;
}

/** A new purchase, only once the old one can't be running: its hold is freed by then, or by the person's word now. */
async function resend(
  world: OperatorWorld,
  order: Order,
  notRunning: boolean,
  job: Job,
  vendor: Vendor | undefined,
): Promise<Settled> {
  if (job.state !== 'needs_attention' || vendor === undefined) return { kind: 'moved_on', job };
  const word = job.vendorJobId === undefined ? undefined : await vendor.ask(job.vendorJobId, bounded(world));
  if (word?.kind === 'pending') return { kind: 'still_may_run', allowedFrom: undefined };
  // It took the first one, so a second would be paid for: only a person who knows better goes on without its word.
  if (word?.kind === 'unreachable' && !notRunning) return { kind: 'vendor_unreachable', message: word.message };
  if (word?.kind === 'succeeded') {
    const taken = await takeInstead(world, order, job, vendor, word);
    if (taken !== undefined) return taken;
  }
  const allowedFrom = cantBeRunningFrom(job, vendor.traits);
  const isPast = allowedFrom !== undefined && world.clock.now() >= allowedFrom;
  const isOver = notRunning || isPast || isLastWord(word);
  // A restored job has no hold, and may have been sent after the moment that was restored.
  const mayRun = job.hold !== undefined || job.flag.code === 'restored';
  if (mayRun && !isOver) return { kind: 'still_may_run', allowedFrom };
  if (order.dryRun) return { kind: 'would' };
  await audit(world, order);
  if (job.hold !== undefined) await unbindAndFree(world, job);
  const lane = await world.lanes.read(job.lane);
  const now = world.clock.now();
  const read = await world.jobs.read(job.id);
  const freed = read?.kind === 'job' ? read.job : undefined;
  if (freed?.state !== 'needs_attention' || freed.generation !== order.generation)
    return { kind: 'moved_on', job: freed };
  const waits = { queuedAt: now, laneClosedMs: closedMsUntil(lane, now), checkAt: now + job.maxQueueMs };
  const moved = await world.jobs.move(move('resend', freed, waits));
  if (moved.kind === 'refused') return { kind: 'moved_on', job: moved.actual };
  tell(world, moved.job, 'resend');
  await world.doorbell.ring(job.lane, job.id);
  return { kind: 'done', job: moved.job };
}

function tell(world: OperatorWorld, job: Job, transition: 'retakeParked' | 'resend'): void {
  world.notices.note({ kind: 'moved', job, transition });
  world.feed.send(job.followers, { type: 'job', job });
}

/**
 * The vendor has the picture after all: buying it again would be wrong, taking it is not. Undefined: it can't be had
 * any more, and a person may buy it again.
 */
async function takeInstead(
  world: OperatorWorld,
  order: Order,
  job: Job<'needs_attention'>,
  vendor: Vendor,
  word: VendorWord,
): Promise<Settled | undefined> {
  const isLost = job.flag.code === 'result_lost';
  if (order.dryRun) return isLost ? undefined : { kind: 'moved_on', job };
  const applied = await applyWord(world, job, vendor, word, bounded(world));
  if (applied.kind === 'settled') return { kind: 'moved_on', job: applied.job };
  return isLost ? undefined : { kind: 'moved_on', job };
}

const ended = 'Our team ended this job.';
/** Nobody is invited to buy again what may still be made. */
const endedAndOver = `${ended} You may start a new one.`;

/** The person's word ends it for the user; its hold stays until it can't be running, or the person vouches for that. */
async function fail(
  world: OperatorWorld,
  order: Order,
  notRunning: boolean,
  job: Job,
  vendor: Vendor | undefined,
): Promise<Settled> {
  const isLeft = job.state === 'failed' && job.hold !== undefined && notRunning;
  const isOpen = job.state === 'queued' || job.state === 'running' || job.state === 'needs_attention';
  if (!isOpen && !isLeft) return { kind: 'moved_on', job };
  if (order.dryRun) return { kind: 'would' };
  await audit(world, order);
  if (job.state === 'failed') {
    await unbindAndFree(world, job);
    return await reread(world, job);
  }
  if (!isOpen) return { kind: 'moved_on', job };
  const isOver = notRunning || job.hold === undefined;
  const failure = { code: 'failed_by_operator', message: isOver ? endedAndOver : ended };
  const moved = await world.jobs.move(move('failByOperator', job, { failure, ...ending(world) }));
  if (moved.kind === 'refused') return { kind: 'moved_on', job: moved.actual };
  world.feed.send(moved.followers, { type: 'job', job: moved.job });
  await announce(world, moved.job);
  if (notRunning && moved.job.hold !== undefined) await unbindAndFree(world, moved.job);
  // Best effort: it spares the vendor's work, and frees the unit sooner; the job has ended whatever the vendor says.
  if (!isOver && job.vendorJobId !== undefined) await vendor?.cancel(job.vendorJobId, bounded(world));
  return await reread(world, moved.job);
}

async function reread(world: OperatorWorld, job: Job): Promise<Settled> {
  const read = await world.jobs.read(job.id);
  return { kind: 'done', job: read?.kind === 'job' ? read.job : job };
}
