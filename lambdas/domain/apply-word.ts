import { recordEvidence } from './record-evidence.ts';
import type { Job } from './job.ts';
import { cancelAtVendor, complete, copyResult, failAtVendor, flagLost, type Open } from './settle-job.ts';
import type { Vendor, VendorWord } from './vendor.ts';
import type { World } from './world.ts';

export type Applied =
  | { readonly kind: 'settled'; readonly job: Job }
  | { readonly kind: 'flagged'; readonly job: Job<'needs_attention'> }
  /** The vendor works on it still. */
  | { readonly kind: 'pending' }
  /** No readable answer, or its picture can't be had just now: nothing changed. */
  | { readonly kind: 'unreachable'; readonly message: string }
  /** Another writer was first. */
  | { readonly kind: 'moved_on' };

/** The vendor's word about a job that it took, applied. Only a terminal word ends a job; "gone" is not one. */
export async function applyWord(
  world: World,
  job: Job<Open>,
  vendor: Vendor,
  word: VendorWord,
  signal: AbortSignal,
): Promise<Applied> {
  switch (word.kind) {
    case 'pending':
      return { kind: 'pending' };
    case 'unreachable':
      return { kind: 'unreachable', message: word.message };
    case 'succeeded':
      return await takeResult(world, job, vendor, word, signal);
    case 'failed': {
      const failure = { code: 'failed_at_vendor', message: word.message };
      return settled(await failAtVendor(world, job, failure));
    }
    case 'canceled':
      return settled(await cancelAtVendor(world, job));
    case 'gone':
      return await lost(world, job, 'vendor_lost_job', {});
    default:
      return word satisfies never;
  }
}

function settled(job: Job | undefined): Applied {
  return job === undefined ? { kind: 'moved_on' } : { kind: 'settled', job };
}

async function takeResult(
  world: World,
  job: Job<Open>,
  vendor: Vendor,
  word: VendorWord & { kind: 'succeeded' },
  signal: AbortSignal,
): Promise<Applied> {
  const copied = await copyResult(world, job, vendor, word.result, signal);
  switch (copied.kind) {
    case 'copied':
      return settled(await complete(world, job, copied.picture));
    case 'unreachable':
      return { kind: 'unreachable', message: copied.message };
    case 'lost':
      return await lost(world, job, 'result_lost', { message: copied.message });
    default:
      return copied satisfies never;
  }
}

/** Money is spent and nothing can be shown for it: parked for a person, never "failed" on our own guess. */
async function lost(
  world: World,
  job: Job<Open>,
  code: 'vendor_lost_job' | 'result_lost',
  detail: { message?: string },
): Promise<Applied> {
  if (job.state !== 'running') return { kind: 'pending' };
  await recordEvidence(world, job, code, { vendorJobId: job.vendorJobId, ...detail });
  const flagged = await flagLost(world, job, code);
  return flagged === undefined ? { kind: 'moved_on' } : { kind: 'flagged', job: flagged };
}
