import { accept, noteUnexpected } from './accept-job.ts';
import { recordOnce } from './record-evidence.ts';
import type { Job, TerminalState } from './job.ts';
import { vendorKeyOf } from './job.ts';
import { watchLeaseMs } from './timing.ts';
import type { RawEvent } from './vendor.ts';
import type { World } from './world.ts';

export interface VendorEventAt {
  readonly vendor: string;
  readonly jobId: string;
  /** From the callback URL, which bears the vendor key. */
  readonly generation: number;
  readonly event: RawEvent;
}

export type Received =
  /** Stored, acted on, or nothing new: the vendor need not send it again. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused'; readonly reason: 'unsigned' | 'bad_signature' | 'stale' | 'malformed' }
  | { readonly kind: 'unknown_job' };

/**
 * Always a hint, never an outcome: late, repeated and disordered events are harmless. For a send whose answer was lost
 * it is the receipt: it links the vendor's job and clears the flag. Another generation's event is evidence only.
 */
export async function receiveVendorEvent(world: World, at: VendorEventAt): Promise<Received> {
  const vendor = world.vendors.named(at.vendor);
  if (vendor === undefined) return { kind: 'unknown_job' };
  const event = await vendor.readEvent(at.event);
  if (event.kind === 'refused') return event;
  const read = await world.jobs.read(at.jobId);
  if (read?.kind !== 'job' || read.job.vendor !== at.vendor) return { kind: 'unknown_job' };
  const job = read.job;
  const isOther = event.vendorKey !== undefined && event.vendorKey !== vendorKeyOf(job);
  if (job.generation !== at.generation || isOther) {
    const said = { vendorJobId: event.vendorJobId, generation: at.generation, vendorKey: event.vendorKey ?? null };
    await recordOnce(world, job, 'event_of_another_generation', said);
    return { kind: 'taken' };
  }
  await take(world, job, event.vendorJobId);
  return { kind: 'taken' };
}

async function take(world: World, job: Job, vendorJobId: string): Promise<void> {
  switch (job.state) {
    case 'dispatching':
    case 'needs_attention':
      if (job.vendorJobId === undefined) await takeReceipt(world, job, vendorJobId);
      else if (job.vendorJobId !== vendorJobId) await conflict(world, job, vendorJobId);
      return;
    case 'running':
      if (job.vendorJobId !== vendorJobId) return await conflict(world, job, vendorJobId);
      // With a live watch its worker sees it by itself.
      if ((job.watchUntil ?? 0) <= world.clock.now()) await world.doorbell.ring(job.lane, job.id);
      return;
    case 'queued':
      // It was proven that the vendor has nothing of this generation: a person should know that it says otherwise.
      return await noteUnexpected(world, job, vendorJobId);
    case 'succeeded':
    case 'failed':
    case 'canceled':
      return await takeAfterEnd(world, job, vendorJobId);
    default:
      job satisfies never;
  }
}

/** The last events of a vendor job that ended as it said come as a matter of course, and are not kept. */
async function takeAfterEnd(world: World, job: Job<TerminalState>, vendorJobId: string): Promise<void> {
  if (job.state === 'failed' && job.failure.code === 'failed_by_operator' && job.vendorJobId === vendorJobId) {
    return await recordOnce(world, job, 'event_after_end', { vendorJobId });
  }
  if (job.vendorJobId === vendorJobId) return;
  // Where the answer to the send was the picture, the job names no vendor job, and only the link knows.
  const owner = job.state === 'succeeded' ? await world.jobs.vendorJobOwner(job.vendor, vendorJobId) : undefined;
  const isIts = owner?.jobId === job.id && owner.generation === job.generation && job.vendorJobId === undefined;
  if (!isIts) await noteUnexpected(world, job, vendorJobId);
}

/**
 * The sender may be alive, its answer still on the way: it goes on watching then, since the attempt stays. If it is
 * dead, the watch runs out and is taken up.
 */
async function takeReceipt(
  world: World,
  job: Job<'dispatching' | 'needs_attention'>,
  vendorJobId: string,
): Promise<void> {
  const now = world.clock.now();
  const hasSender = job.state === 'dispatching' && now <= job.dispatchBy;
  await recordOnce(world, job, 'vendor_event', { vendorJobId });
  const accepted = await accept(world, job, vendorJobId, hasSender ? now + watchLeaseMs : now);
  if (accepted.kind === 'running' && !hasSender) await world.doorbell.ring(job.lane, job.id);
}

async function conflict(world: World, job: Job, vendorJobId: string): Promise<void> {
  await recordOnce(world, job, 'vendor_job_conflict', { vendorJobId, ownedBy: job.vendorJobId ?? '' });
  world.notices.note({ kind: 'vendor_job_conflict', job, vendorJobId, ownedBy: job.vendorJobId ?? '' });
}
