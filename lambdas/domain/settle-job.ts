import { announce } from './announce-job.ts';
import { freeHold } from './free-hold.ts';
import type { Failure, FlagCode, Hold, Job, StoredPicture } from './job.ts';
import { resultKeyOf } from './job.ts';
import type { From, Transition } from './lifecycle.ts';
import { move } from './lifecycle.ts';
import { inspectPicture } from './picture.ts';
import type { Moved } from './ports.ts';
import { nextTick } from './timing.ts';
import type { Vendor, VendorResult } from './vendor.ts';
import type { World } from './world.ts';

type AnyMoved =
  | {
      readonly kind: 'moved';
      readonly job: Job;
      readonly unbound: Hold | undefined;
      readonly followers: readonly string[];
    }
  | { readonly kind: 'refused'; readonly actual: Job | undefined };

/** States in which the vendor's word about the job still decides. */
export type Open = 'dispatching' | 'running' | 'needs_attention';

export type Copied =
  | { readonly kind: 'copied'; readonly picture: StoredPicture }
  | { readonly kind: 'lost'; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string };

const resultLimits = { maxBytes: 64 * 1024 * 1024, maxPixels: 200_000_000 };

/** Our own copy of the vendor's picture, made before anybody is told that it is there. */
export async function copyResult(
  world: Pick<World, 'files'>,
  job: Job,
  vendor: Vendor,
  result: VendorResult,
  signal: AbortSignal,
): Promise<Copied> {
  const fetched = await vendor.fetchResult(result, signal);
  if (fetched.kind !== 'fetched') return fetched;
  const seen = inspectPicture(fetched.bytes, resultLimits);
  if (seen.kind === 'refused') return { kind: 'lost', message: `The vendor's result is no picture: ${seen.detail}` };
  const key = resultKeyOf(job, 0);
  await world.files.put(key, fetched.bytes, seen.contentType);
  const { contentType, width, height } = seen;
  return { kind: 'copied', picture: { key, contentType, bytes: fetched.bytes.byteLength, width, height } };
}

/** What every end writes. */
export function ending(world: World): { finishedAt: number; ttl: number; checkAt: number } {
  const now = world.clock.now();
  return { finishedAt: now, ttl: Math.ceil((now + world.retentionMs) / 1000), checkAt: now };
}

export async function complete(world: World, job: Job<Open>, picture: StoredPicture): Promise<Job | undefined> {
  const progress = { percent: 100, stage: undefined, at: world.clock.now() };
  const moved = await world.jobs.move(
    move('complete', job, { ...ending(world), results: [picture], progress: { ...progress } }),
  );
  // Its job was erased while this worker stalled: the copy that it made meanwhile is nobody's, and would outlive the erasure.
  if (moved.kind === 'refused' && moved.actual === undefined) await world.files.delete(picture.key);
  return await afterUnbinding(world, job, 'complete', moved);
}

export async function failAtVendor(world: World, job: Job<Open>, failure: Failure): Promise<Job | undefined> {
  const moved = await world.jobs.move(move('failAtVendor', job, { ...ending(world), failure }));
  return await afterUnbinding(world, job, 'failAtVendor', moved);
}

export async function cancelAtVendor(world: World, job: Job<Open>): Promise<Job | undefined> {
  const moved = await world.jobs.move(move('cancelAtVendor', job, ending(world)));
  return await afterUnbinding(world, job, 'cancelAtVendor', moved);
}

export async function refuse(world: World, job: Job<From<'refuse'>>, failure: Failure): Promise<Job | undefined> {
  const moved = await world.jobs.move(move('refuse', job, { ...ending(world), failure }));
  return await afterUnbinding(world, job, 'refuse', moved);
}

export async function spend(world: World, job: Job<'dispatching'>, failure: Failure): Promise<Job | undefined> {
  const moved = await world.jobs.move(move('spend', job, { ...ending(world), failure }));
  return await afterUnbinding(world, job, 'spend', moved);
}

export async function expire(world: World, job: Job<'queued'>): Promise<Job | undefined> {
  const message = 'It waited longer than this feature allows. Nothing was sent, and nothing was charged.';
  const failure = { code: 'expired_in_queue', message };
  const moved = await world.jobs.move(move('expire', job, { ...ending(world), failure }));
  return await afterUnbinding(world, job, 'expire', moved);
}

/**
 * A job whose send our account may not make goes behind so many others: the next probe of its lane is another job, since
 * what the vendor says of the account may be about this one alone.
 */
const stepsBack = 10;

/**
 * Back to the queue, or to its end if its owner asked for that; the condition tells which. `releaseUntried`: it was our
 * account that was refused, and an account that is refused for an hour must not use up what its jobs may be sent.
 */
export async function release(
  world: World,
  job: Job<'dispatching'>,
  delayMs: number,
  how: 'release' | 'releaseUntried' = 'release',
): Promise<Job | undefined> {
  const checkAt = job.queuedAt + job.maxQueueMs;
  const moved =
    how === 'release'
      ? await world.jobs.move(move('release', job, { checkAt }))
      : await world.jobs.move(move('releaseUntried', job, { checkAt, rank: job.rank + stepsBack }));
  const actual = moved.kind === 'refused' ? moved.actual : undefined;
  if (actual?.state === 'dispatching' && actual.attempt === job.attempt && actual.cancelRequestedAt !== undefined) {
    const canceled = await world.jobs.move(move('releaseCanceled', actual, ending(world)));
    return await afterUnbinding(world, job, 'releaseCanceled', canceled);
  }
  return await afterUnbinding(world, job, how, moved, delayMs);
}

/** From `needs_attention`, by proof that nothing of this generation was taken. */
export async function releaseProven(world: World, job: Job<'needs_attention'>): Promise<Job | undefined> {
  if (job.cancelRequestedAt !== undefined) {
    const canceled = await world.jobs.move(move('releaseProvenCanceled', job, ending(world)));
    return await afterUnbinding(world, job, 'releaseProvenCanceled', canceled);
  }
  const moved = await world.jobs.move(move('releaseProven', job, { checkAt: job.queuedAt + job.maxQueueMs }));
  return await afterUnbinding(world, job, 'releaseProven', moved);
}

type Flagging = Pick<World, 'clock' | 'jobs' | 'notices' | 'feed'>;

export async function flagUnknown(
  world: Flagging,
  job: Job<'dispatching'>,
  code: FlagCode,
): Promise<Job<'needs_attention'> | undefined> {
  const now = world.clock.now();
  const moved = await world.jobs.move(
    move('flagUnknown', job, { flag: { code, since: now }, maybeSent: true, checkAt: nextTick(now) }),
  );
  return await afterFlag(world, moved);
}

export async function flagLost(
  world: Flagging,
  job: Job<'running'>,
  code: FlagCode,
): Promise<Job<'needs_attention'> | undefined> {
  const now = world.clock.now();
  const moved = await world.jobs.move(move('flagLost', job, { flag: { code, since: now }, checkAt: nextTick(now) }));
  return await afterFlag(world, moved);
}

async function afterFlag(
  world: Flagging,
  moved: Moved<'flagUnknown'> | Moved<'flagLost'>,
): Promise<Job<'needs_attention'> | undefined> {
  if (moved.kind === 'refused') return undefined;
  world.notices.note({ kind: 'flagged', job: moved.job });
  world.feed.send(moved.job.followers, { type: 'job', job: moved.job });
  return moved.job;
}

/**
 * After a write that unbinds: free and ring, tell the followers, announce. Refused, the job is somebody else's word
 * now; our own hold is freed unless the job is still bound to it (our own earlier write may have won unseen).
 */
export async function afterUnbinding(
  world: World,
  job: Job,
  transition: Transition,
  moved: AnyMoved,
  delayMs?: number,
): Promise<Job | undefined> {
  if (moved.kind === 'refused') {
    const stillBound = moved.actual?.hold?.token === job.hold?.token;
    if (job.hold !== undefined && moved.actual !== undefined && !stillBound) {
      await freeHold(world, job.lane, job.hold);
    }
    return undefined;
  }
  const settled = moved.job;
  world.notices.note({ kind: 'moved', job: settled, transition });
  if (moved.unbound !== undefined || settled.state === 'queued') {
    await freeHold(world, settled.lane, moved.unbound, delayMs);
  }
  world.feed.send(moved.followers, { type: 'job', job: settled });
  await announce(world, settled);
  return settled;
}
