import { accept, type Accepted } from './accept-job.ts';
import { recordEvidence, recordOnce } from './record-evidence.ts';
import type { Job } from './job.ts';
import { vendorKeyOf } from './job.ts';
import { quarantineEnd } from './money-rule.ts';
import { flagUnknown, releaseProven } from './settle-job.ts';
import { askTimeoutMs } from './timing.ts';
import type { Vendor } from './vendor.ts';
import type { World } from './world.ts';

export type LookedUp =
  | { readonly kind: 'accepted'; readonly accepted: Accepted }
  /** Proven absent: queued again, or canceled. */
  | { readonly kind: 'released'; readonly job: Job }
  /** Not found yet, or nobody answers: parked. */
  | { readonly kind: 'flagged'; readonly job: Job<'needs_attention'> }
  | { readonly kind: 'unchanged' };

/**
 * Asks the vendor for our key. Found is a receipt. Absent releases only where the adapter vouches that absence is proof,
 * by the clock read *before* asking, after the last moment at which the request could still have turned up.
 */
export async function lookUp(
  world: World,
  vendor: Vendor,
  job: Job<'dispatching' | 'needs_attention'>,
  signal: AbortSignal,
): Promise<LookedUp> {
  const askedAt = world.clock.now();
  const bounded = AbortSignal.any([signal, world.waiting.deadline(askTimeoutMs)]);
  const found = await vendor.find?.(vendorKeyOf(job), bounded);
  if (found?.kind === 'found') {
    const accepted = await accept(world, job, found.vendorJobId, world.clock.now());
    if (accepted.kind === 'running') await world.doorbell.ring(job.lane, job.id);
    return { kind: 'accepted', accepted };
  }
  const parked = await park(world, job);
  if (parked === undefined) return { kind: 'unchanged' };
  // For the person who may have to decide: that it was tried, and what came of it.
  if (found !== undefined) await recordOnce(world, parked, 'looked_up', { said: found.kind });
  if (found?.kind !== 'absent') return sameOrFlagged(job, parked);
  const isProof = vendor.traits.absence === 'proof' && askedAt >= quarantineEnd(parked, vendor.traits);
  if (!isProof) return sameOrFlagged(job, parked);
  await recordEvidence(world, parked, 'proven_absent', { askedAt });
  const released = await releaseProven(world, parked);
  return released === undefined ? { kind: 'unchanged' } : { kind: 'released', job: released };
}

async function park(world: World, job: Job<'dispatching' | 'needs_attention'>) {
  if (job.state === 'needs_attention') return job;
  return await flagUnknown(world, job, 'unknown_send');
}

function sameOrFlagged(job: Job, parked: Job<'needs_attention'>): LookedUp {
  return job.state === 'needs_attention' ? { kind: 'unchanged' } : { kind: 'flagged', job: parked };
}
