import { freeHold } from './free-hold.ts';
import type { Job } from './job.ts';
import { move } from './lifecycle.ts';
import { sendJob, sendTimes, settleLostSend, type Sent } from './send-job.ts';
import { askTimeoutMs, longestRingWaitMs, nextTick, sendLeadMs } from './timing.ts';
import type { Vendor } from './vendor.ts';
import { attach, watchJob, type Shift } from './watch-job.ts';
import type { World } from './world.ts';

/** "Look whether something waits." */
export interface Ring {
  readonly lane: string;
  readonly hint: string | undefined;
}

/** So many jobs that are no longer queued, or that others took first, before another ring goes on. */
const picksPerRing = 10;
const candidatesPerPick = 25;
/** Where none of those can be sent, their vendor being configured no more: they must not stand before all others. */
const candidatesBehind = 250;

/**
 * One ring, served by one worker: first the job that it hints at, where that needs no new unit of the lane, then the
 * lane's first job. A ring that finds nothing does nothing.
 */
export async function dispatchJob(world: World, ring: Ring, shift: Shift): Promise<void> {
  try {
    const beganAt = world.clock.now();
    const hinted = await readJob(world, ring.hint);
    if (hinted !== undefined && hinted.lane === ring.lane && (await serveHint(world, hinted, shift))) return;
    // Its hint took a whole send: what is left of the shift may cut the next one off, paid for and unknown.
    if (world.clock.now() - beganAt > sendLeadMs) await world.doorbell.ring(ring.lane, undefined);
    else await pick(world, ring, shift);
  } finally {
    // Whatever broke: an end that was written is told to its followers before the sandbox is frozen.
    await world.feed.flush();
  }
}

async function readJob(world: World, id: string | undefined): Promise<Job | undefined> {
  if (id === undefined) return undefined;
  const read = await world.jobs.read(id);
  return read?.kind === 'job' ? read.job : undefined;
}

/** True: this ring's work is done with it. */
async function serveHint(world: World, job: Job, shift: Shift): Promise<boolean> {
  const now = world.clock.now();
  const vendor = world.vendors.named(job.vendor);
  if (vendor === undefined) return false;
  if (job.state === 'dispatching' && now > job.dispatchBy) {
    return await watchSent(world, vendor, await settleLostSend(world, vendor, job, shift, 'worker'), shift);
  }
  if (job.state !== 'running') return false;
  if ((job.watchUntil ?? 0) <= now) {
    return await watchSent(world, vendor, await attach(world, job), shift);
  }
  if (job.cancelRequestedAt !== undefined) {
    // Another worker watches it, and would see the request only at its next write.
    await vendor.cancel(job.vendorJobId, AbortSignal.any([shift.signal, world.waiting.deadline(askTimeoutMs)]));
  }
  return false;
}

async function watchSent(world: World, vendor: Vendor, sent: Sent, shift: Shift): Promise<boolean> {
  if (sent === undefined) return false;
  await watchJob(world, vendor, sent, shift);
  return true;
}

/**
 * The lowest rank first. Losing a race means asking again, not going down the page: two workers that hold for the same
 * first job must not both acknowledge their rings while a second job waits.
 */
async function pick(world: World, ring: Ring, shift: Shift): Promise<void> {
  for (let picks = 0; picks < picksPerRing; picks += 1) {
    const job = await firstQueued(world, ring);
    if (job === undefined) return;
    const picked = await take(world, job, shift);
    if (picked !== 'again') return;
  }
  await world.doorbell.ring(ring.lane, ring.hint);
}

async function firstQueued(world: World, ring: Ring): Promise<Job<'queued'> | undefined> {
  const first = await world.index.queued(ring.lane, candidatesPerPick);
  const ready = await firstReady(world, ring, first);
  if (ready !== undefined || first.length < candidatesPerPick)
    return ready ?? (await firstReady(world, ring, hinted(ring)));
  const behind = await world.index.queued(ring.lane, candidatesBehind);
  return await firstReady(world, ring, [...behind.slice(first.length), ...hinted(ring)]);
}

/** The index lags: a job that was just queued may be known by its hint only. */
function hinted({ hint }: Ring): readonly string[] {
  return hint === undefined ? [] : [hint];
}

async function firstReady(world: World, ring: Ring, ids: readonly string[]): Promise<Job<'queued'> | undefined> {
  for (const id of ids) {
    const job = await readJob(world, id);
    const isReady = job?.state === 'queued' && job.lane === ring.lane && job.cancelRequestedAt === undefined;
    if (isReady && world.vendors.named(job.vendor) !== undefined) return job;
  }
  return undefined;
}

async function take(world: World, job: Job<'queued'>, shift: Shift): Promise<'done' | 'again'> {
  const vendor = world.vendors.named(job.vendor);
  if (vendor === undefined) return 'done';
  const token = world.tokens.next();
  const acquiredAt = world.clock.now();
  const unit = { jobId: job.id, attempt: job.attempt + 1, acquiredAt };
  const held = await world.lanes.hold(job.lane, token, unit, job.rank);
  switch (held.kind) {
    case 'held': {
      const claimed = await claim(world, vendor, job, token);
      if (claimed === undefined) return 'again';
      const sent = await sendJob(world, vendor, claimed, shift, held);
      await watchSent(world, vendor, sent, shift);
      return 'done';
    }
    case 'not_yet': {
      const waitMs = held.notBefore - acquiredAt;
      if (waitMs <= longestRingWaitMs) await world.doorbell.ring(job.lane, undefined, waitMs);
      return 'done';
    }
    // Whoever frees a unit, opens the lane or raises its cap rings.
    case 'full':
    case 'closed':
      return 'done';
    default:
      return held satisfies never;
  }
}

/**
 * Iff the attempt is the one read before the hold. Refused by somebody else's write, only our own token goes; refused by
 * our own write that the SDK sent twice, the store says "moved". A claim that came back too late to send is left for
 * the money rule: its request never leaves, but nobody else can know that.
 */
async function claim(
  world: World,
  vendor: Vendor,
  job: Job<'queued'>,
  token: string,
): Promise<Job<'dispatching'> | undefined> {
  const now = world.clock.now();
  const times = sendTimes(now, vendor.traits.sendTimeoutMs);
  const moved = await world.jobs.move(
    move('claim', job, {
      hold: { token },
      claimToken: world.tokens.next(),
      ...times,
      sends: 1,
      tries: job.tries + 1,
      firstTriedAt: now,
      startedAt: now,
      checkAt: nextTick(times.dispatchBy),
    }),
  );
  if (moved.kind === 'moved') {
    world.notices.note({ kind: 'claimed', job: moved.job });
    world.feed.send(moved.job.followers, { type: 'job', job: moved.job });
    return moved.job;
  }
  if (moved.actual?.hold?.token !== token) await freeHold(world, job.lane, { token });
  return undefined;
}
