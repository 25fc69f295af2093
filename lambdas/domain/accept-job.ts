import { recordOnce } from './record-evidence.ts';
import type { Job } from './job.ts';
import { move } from './lifecycle.ts';
import { flagLost, flagUnknown } from './settle-job.ts';
import type { Linked } from './ports.ts';
import { nextTick, vendorLinkMs } from './timing.ts';
import type { World } from './world.ts';

export type Accepted =
  | { readonly kind: 'running'; readonly job: Job<'running'> }
  /** Its hold was freed before: the receipt is stored, and the vendor will be asked. */
  | { readonly kind: 'noted'; readonly job: Job<'needs_attention'> }
  | { readonly kind: 'flagged'; readonly job: Job<'needs_attention'> }
  /** Settled, or of another generation, or it has another vendor job: this receipt moves nothing. */
  | { readonly kind: 'moved_on'; readonly actual: Job | undefined };

/**
 * A receipt: the vendor took this generation under this id. Compared by generation only, since a fenced sender's receipt
 * is still true. The vendor's job is linked first, so that no two jobs of ours ever own one.
 *
 * `watchUntil`: how long the caller means to watch it itself; a past time hands it to the next ring.
 */
export async function accept(
  world: World,
  job: Job<'dispatching' | 'needs_attention'>,
  vendorJobId: string,
  watchUntil: number,
): Promise<Accepted> {
  const linked = await linkVendorJob(world, job, vendorJobId);
  if (linked.kind === 'owned') {
    return await conflict(world, job, vendorJobId, `${linked.jobId}.${linked.generation}`);
  }
  const now = world.clock.now();
  const runUntil = now + job.maxRunMs;
  const change = { vendorJobId, watchUntil, runUntil, startedAt: now, checkAt: Math.max(watchUntil, nextTick(now)) };
  const moved = await world.jobs.move(move('accept', job, change));
  if (moved.kind === 'moved') return tell(world, moved.job);
  return await afterRefusal(world, job, { vendorJobId, isNew: linked.isNew }, moved.actual);
}

export async function linkVendorJob(
  world: World,
  { vendor, id, generation }: Job,
  vendorJobId: string,
): Promise<Linked> {
  return await world.jobs.linkVendorJob(vendor, vendorJobId, id, generation, world.clock.now() + vendorLinkMs);
}

function tell(world: World, job: Job<'running'>): Accepted {
  world.notices.note({ kind: 'moved', job, transition: 'accept' });
  world.feed.send(job.followers, { type: 'job', job });
  return { kind: 'running', job };
}

interface Receipt {
  readonly vendorJobId: string;
  /** Nobody brought it before. */
  readonly isNew: boolean;
}

async function afterRefusal(
  world: World,
  job: Job<'dispatching' | 'needs_attention'>,
  { vendorJobId, isNew }: Receipt,
  actual: Job | undefined,
): Promise<Accepted> {
  if (actual === undefined) return { kind: 'moved_on', actual };
  if (actual.generation !== job.generation) {
    await recordOnce(world, actual, 'receipt_of_another_generation', { vendorJobId, generation: job.generation });
    return { kind: 'moved_on', actual };
  }
  // Somebody else brought the same receipt first (a webhook, an overlapping tick): the caller may go on watching.
  if (actual.state === 'running' && actual.vendorJobId === vendorJobId) return { kind: 'running', job: actual };
  if (actual.vendorJobId !== undefined && actual.vendorJobId !== vendorJobId) {
    return await conflict(world, job, vendorJobId, `${actual.id} as ${actual.vendorJobId}`);
  }
  if (actual.state !== 'needs_attention') return await tooLate(world, actual, { vendorJobId, isNew });
  if (actual.hold !== undefined) return { kind: 'moved_on', actual };
  const noted = await world.jobs.move(move('note', actual, { vendorJobId, checkAt: nextTick(world.clock.now()) }));
  return noted.kind === 'moved' ? { kind: 'noted', job: noted.job } : { kind: 'moved_on', actual: noted.actual };
}

/** It was given up, or goes to the vendor once more: nobody will look at what the vendor took, unless a person does. */
async function tooLate(world: World, actual: Job, { vendorJobId, isNew }: Receipt): Promise<Accepted> {
  // A job that ended with the answer to its send names no vendor job; the link of that one was there before the end.
  const isItsEnd = actual.state === 'succeeded' && !isNew;
  if (actual.vendorJobId === undefined && !isItsEnd) await noteUnexpected(world, actual, vendorJobId);
  return { kind: 'moved_on', actual };
}

/** The vendor has something of a job of which, as far as we know, it has nothing any more. */
export async function noteUnexpected(world: World, job: Job, vendorJobId: string): Promise<void> {
  await recordOnce(world, job, `vendor_has_it_while_${job.state}`, { vendorJobId });
  world.notices.note({ kind: 'vendor_job_conflict', job, vendorJobId, ownedBy: job.vendorJobId ?? 'nobody' });
}

/** Two vendor jobs for one of ours, or one for two of ours: a person has to look, whatever else is true. */
async function conflict(world: World, job: Job, vendorJobId: string, ownedBy: string): Promise<Accepted> {
  await recordOnce(world, job, 'vendor_job_conflict', { vendorJobId, ownedBy });
  world.notices.note({ kind: 'vendor_job_conflict', job, vendorJobId, ownedBy });
  if (job.state === 'dispatching') {
    const flagged = await flagUnknown(world, job, 'vendor_job_conflict');
    if (flagged !== undefined) return { kind: 'flagged', job: flagged };
  }
  const read = await world.jobs.read(job.id);
  const actual = read?.kind === 'job' ? read.job : undefined;
  if (actual?.state === 'running' && actual.generation === job.generation && actual.vendorJobId !== vendorJobId) {
    const flagged = await flagLost(world, actual, 'vendor_job_conflict');
    if (flagged !== undefined) return { kind: 'flagged', job: flagged };
  }
  return { kind: 'moved_on', actual };
}
