import { accept, linkVendorJob } from './accept-job.ts';
import { recordEvidence } from './record-evidence.ts';
import type { Job } from './job.ts';
import { inputKeyOf, vendorKeyOf } from './job.ts';
import { move } from './lifecycle.ts';
import { afterSend, afterUnknown, backOffMs, canReplay, type AfterSend } from './money-rule.ts';
import { hasRoom } from './lane.ts';
import { lookUp } from './look-up.ts';
import { complete, copyResult, flagUnknown, refuse, release, releaseProven, spend } from './settle-job.ts';
import { ringFor } from './tend-lane.ts';
import { clockSkewMs, nextTick, probeEveryMs, sendLeadMs, watchLeaseMs } from './timing.ts';
import type { Submission, SubmitOutcome, Vendor } from './vendor.ts';
import type { Shift } from './watch-job.ts';
import type { World } from './world.ts';

/** A job that is out at the vendor and may be watched, or nothing more to do here. */
export type Sent = Job<'running'> | undefined;

export function sendTimes(now: number, sendTimeoutMs: number): { sendBy: number; dispatchBy: number } {
  const sendBy = now + sendLeadMs;
  return { sendBy, dispatchBy: sendBy + sendTimeoutMs + clockSkewMs };
}

/** Sends a claimed job exactly once, and does what the answer means. `probing`: the lane is tripped, and this finds out. */
export async function sendJob(
  world: World,
  vendor: Vendor,
  job: Job<'dispatching'>,
  shift: Shift,
  stay: { readonly probing: boolean; readonly since: number },
): Promise<Sent> {
  let submission: Submission | undefined;
  try {
    submission = await loadSubmission(world, job, shift);
  } catch (error) {
    // Not one byte has left. Left as it is, it would be flagged, and hold its unit until a person comes.
    const unsent = { kind: 'not-sent', cause: 'input_unavailable', message: 'Its input could not be read.' } as const;
    await follow(world, vendor, job, afterSend(job, unsent, vendor.traits, world.clock.now()), shift, stay.since);
    throw error;
  }
  if (submission === undefined) {
    const message = 'The picture of this job is no longer stored. Nothing was sent.';
    await settleUnsendable(world, job, { code: 'input_lost', message });
    return undefined;
  }
  const outcome = await submitOnce(world, vendor, job, submission);
  await noteOutcome(world, job, outcome);
  const isWell = outcome.kind !== 'account-refused' && outcome.kind !== 'not-sent';
  // A lane that can't be opened just now must not cost its probe the receipt.
  const [reopened] = await Promise.allSettled([stay.probing && isWell ? reopen(world, job, stay.since) : false]);
  const next = afterSend(job, outcome, vendor.traits, world.clock.now());
  const sent = await follow(world, vendor, job, next, shift, stay.since);
  if (reopened.status === 'rejected') throw reopened.reason;
  if (reopened.value) await fill(world, job.lane);
  return sent;
}

/** Input gone, nothing sent in this attempt; with an earlier unknown send it is a person's to decide. */
async function settleUnsendable(world: World, job: Job<'dispatching'>, failure: { code: string; message: string }) {
  if (job.maybeSent) await flagUnknown(world, job, 'unknown_send');
  else await spend(world, job, failure);
}

async function loadSubmission(world: World, job: Job<'dispatching'>, shift: Shift): Promise<Submission | undefined> {
  const [request, picture, callbackUrl] = await Promise.all([
    world.jobs.readRequest(job.id, job.submitToken),
    job.picture === undefined ? undefined : world.files.get(inputKeyOf(job)),
    world.callbackUrl(job),
  ]);
  if (request === undefined || (job.picture !== undefined && picture === undefined)) return undefined;
  return {
    vendorKey: vendorKeyOf(job),
    feature: job.feature,
    parameters: request.parameters,
    picture,
    callbackUrl,
    sendBy: job.sendBy,
    signal: shift.signal,
  };
}

/** A secret that was rotated meanwhile is read once more; the first answer proved that nothing was taken. */
async function submitOnce(
  world: World,
  vendor: Vendor,
  job: Job<'dispatching'>,
  submission: Submission,
): Promise<SubmitOutcome> {
  const outcome = await vendor.submit(submission);
  if (outcome.kind !== 'account-refused') return outcome;
  if (!(await vendor.refreshSecret()) || world.clock.now() >= job.sendBy) return outcome;
  return await vendor.submit(submission);
}

async function noteOutcome(world: World, job: Job<'dispatching'>, outcome: SubmitOutcome): Promise<void> {
  const cause = 'cause' in outcome ? outcome.cause : undefined;
  world.notices.note({ kind: 'sent', job, outcome: outcome.kind, cause });
  switch (outcome.kind) {
    case 'unknown': {
      const { message, bodySent, keyReused } = outcome;
      const sent = { sendBy: job.sendBy, sends: job.sends, feature: job.feature };
      await recordEvidence(world, job, 'send_unknown', { cause: outcome.cause, message, bodySent, keyReused, ...sent });
      return;
    }
    case 'refused':
    case 'account-refused':
      if (job.maybeSent)
        await recordEvidence(world, job, 'send_refused', { status: outcome.status, message: outcome.message });
      return;
    case 'throttled':
    case 'not-sent':
      if (job.maybeSent) await recordEvidence(world, job, 'send_not_taken', { message: outcome.message });
      return;
    case 'accepted':
    case 'finished':
      return;
    default:
      outcome satisfies never;
  }
}

/** True: this reopened it. */
async function reopen(world: World, job: Job, since: number): Promise<boolean> {
  const at = world.clock.now();
  const reason = 'The probe was answered: the account is well again.';
  const changed = await world.lanes.change(job.lane, since, { state: 'open', by: 'probe', reason, at });
  if (changed.kind === 'moved_on') return false;
  world.notices.note({ kind: 'lane_reopened', lane: job.lane });
  return true;
}

/** Only once the probe's own answer is written: a bell that can't be reached must not cost its receipt. */
async function fill(world: World, name: string): Promise<void> {
  const lane = await world.lanes.read(name);
  if (hasRoom(lane, world.clock.now())) await ringFor(world, lane);
}

async function follow(
  world: World,
  vendor: Vendor,
  job: Job<'dispatching'>,
  next: AfterSend,
  shift: Shift,
  since: number,
): Promise<Sent> {
  switch (next.do) {
    case 'accept':
      return await takeReceipt(world, job, next.vendorJobId);
    case 'finish':
      return await finish(world, vendor, job, next, shift);
    case 'refuse':
      await refuseOrFlag(world, job, next.failure);
      return undefined;
    case 'spend':
      await spend(world, job, next.failure);
      return undefined;
    case 'release':
      await tripLane(world, job, next.trip, since);
      await backOff(world, job, next.delayMs, next.trip);
      await releaseOwn(world, job, next.delayMs, next.trip === undefined ? 'release' : 'releaseUntried');
      return undefined;
    case 'keep':
      await tripLane(world, job, next.trip, since);
      await backOff(world, job, next.delayMs, next.trip);
      await world.doorbell.ring(job.lane, job.id, Math.max(next.delayMs, job.dispatchBy - world.clock.now()));
      return undefined;
    case 'retake':
      return await retakeSoon(world, vendor, job, shift);
    case 'look_up':
      await lookUp(world, vendor, job, shift.signal);
      return undefined;
    case 'flag':
      await flagUnknown(world, job, next.code);
      return undefined;
    default:
      return next satisfies never;
  }
}

async function takeReceipt(world: World, job: Job<'dispatching'>, vendorJobId: string): Promise<Sent> {
  const accepted = await accept(world, job, vendorJobId, world.clock.now() + watchLeaseMs);
  // A webhook may have brought the receipt first: whoever sent it watches, if its attempt is still the job's.
  if (accepted.kind !== 'running' || accepted.job.attempt !== job.attempt) return undefined;
  return accepted.job;
}

/** A synchronous vendor: its answer is the picture. */
async function finish(
  world: World,
  vendor: Vendor,
  job: Job<'dispatching'>,
  next: AfterSend & { do: 'finish' },
  shift: Shift,
): Promise<Sent> {
  if (next.vendorJobId !== undefined) {
    const linked = await linkVendorJob(world, job, next.vendorJobId);
    if (linked.kind === 'owned') {
      await accept(world, job, next.vendorJobId, world.clock.now());
      return undefined;
    }
  }
  const copied = await copyResult(world, job, vendor, next.result, shift.signal);
  if (copied.kind === 'copied') {
    await complete(world, job, copied.picture);
    return undefined;
  }
  await recordEvidence(world, job, 'result_lost', { message: copied.message });
  if (copied.kind === 'unreachable' && next.vendorJobId !== undefined) {
    return await takeReceipt(world, job, next.vendorJobId);
  }
  await flagUnknown(world, job, 'result_lost');
  return undefined;
}

/** The reconciler may have parked it while the answer was on its way; the answer is still about its only send. */
async function refuseOrFlag(world: World, job: Job<'dispatching'>, failure: { code: string; message: string }) {
  const refused = await refuse(world, job, failure);
  if (refused !== undefined) return;
  const read = await world.jobs.read(job.id);
  const actual = read?.kind === 'job' ? read.job : undefined;
  if (actual?.state === 'needs_attention' && actual.attempt === job.attempt) {
    await refuse(world, actual, failure);
  }
}

async function releaseOwn(
  world: World,
  job: Job<'dispatching'>,
  delayMs: number,
  how: 'release' | 'releaseUntried',
): Promise<void> {
  const released = await release(world, job, delayMs, how);
  if (released !== undefined) return;
  const read = await world.jobs.read(job.id);
  const actual = read?.kind === 'job' ? read.job : undefined;
  const isOurs = actual?.state === 'needs_attention' && actual.attempt === job.attempt && actual.sends === 1;
  if (isOurs && actual.vendorJobId === undefined) await releaseProven(world, actual);
}

/** The lane first: released before, the job's next worker would send with the same bad key. */
async function tripLane(world: World, job: Job, reason: string | undefined, since: number): Promise<void> {
  if (reason === undefined) return;
  const at = world.clock.now();
  const tripped = await world.lanes.trip(job.lane, since, { reason, by: `vendor ${job.vendor}`, at });
  if (tripped === 'tripped') world.notices.note({ kind: 'lane_tripped', lane: job.lane, reason });
}

async function backOff(world: World, job: Job, delayMs: number, trip: string | undefined): Promise<void> {
  if (trip === undefined) await world.lanes.backOff(job.lane, world.clock.now() + delayMs);
}

/**
 * The same vendor key again, on the same hold. The ring before it outlives a crash in between; the condition makes sure
 * that the hold is still the job's and that nobody wants it canceled (then it is parked).
 *
 * In a tripped lane it is the probe: jobs that were kept may have all of the lane's units, and then nobody else could
 * ever find out that the account is well again.
 */
export async function retake(world: World, vendor: Vendor, job: Job<'dispatching'>, shift: Shift): Promise<Sent> {
  const lane = await world.lanes.read(job.lane);
  const now = world.clock.now();
  if (lane.state === 'paused' || lane.notBefore > now || lane.held[job.hold.token] === undefined) {
    if (lane.held[job.hold.token] === undefined) world.notices.note({ kind: 'hold_missing', job });
    return undefined;
  }
  // By the clock that the send's own deadline is counted from: whoever decided may have stalled since.
  if (!canReplay(job, vendor.traits, now)) return undefined;
  const probing = lane.state === 'tripped';
  if (probing) await world.lanes.backOff(job.lane, now + probeEveryMs);
  const change = {
    claimToken: world.tokens.next(),
    ...sendTimes(now, vendor.traits.sendTimeoutMs),
    sends: job.sends + 1,
    tries: job.tries + 1,
    maybeSent: true,
  };
  const moved = await world.jobs.move(move('retake', job, { ...change, checkAt: nextTick(change.dispatchBy) }));
  if (moved.kind === 'refused') {
    const actual = moved.actual;
    const asked = actual?.state === 'dispatching' && actual.attempt === job.attempt;
    if (asked && actual.cancelRequestedAt !== undefined) await flagUnknown(world, actual, 'unknown_send');
    return undefined;
  }
  return await sendJob(world, vendor, moved.job, shift, { probing, since: lane.since });
}

/** The first one at once, since most losses are of one connection; the next ones wait for the job's own deadline. */
async function retakeSoon(world: World, vendor: Vendor, job: Job<'dispatching'>, shift: Shift): Promise<Sent> {
  if (job.sends === 1) return await retake(world, vendor, job, shift);
  await world.doorbell.ring(job.lane, job.id, Math.max(backOffMs(job.tries), job.dispatchBy - world.clock.now()));
  return undefined;
}

/**
 * A send whose worker is gone: the request may have left, so the rule for "unknown" decides. Only a worker sends; the
 * reconciler rings for one.
 */
export async function settleLostSend(
  world: World,
  vendor: Vendor,
  job: Job<'dispatching'>,
  shift: Shift,
  by: 'worker' | 'reconciler',
): Promise<Sent> {
  const next = afterUnknown(job, vendor.traits, world.clock.now());
  if (next.do === 'retake') {
    if (by === 'worker') return await retake(world, vendor, job, shift);
    await world.doorbell.ring(job.lane, job.id);
    return undefined;
  }
  await recordEvidence(world, job, 'worker_lost', { sendBy: job.sendBy, dispatchBy: job.dispatchBy, sends: job.sends });
  const flagged: AfterSend = next.do === 'flag' ? { do: 'flag', code: 'worker_lost' } : next;
  return await follow(world, vendor, job, flagged, shift, 0);
}
