import type { Job } from './job.ts';
import { vendorKeyOf } from './job.ts';
import type { EvidenceStore } from './ports.ts';
import type { JsonObject } from './vendor.ts';
import type { World } from './world.ts';

/** What a person will need to decide about this job, should it come to that. */
export async function recordEvidence(
  world: Pick<World, 'clock'> & { readonly evidence: EvidenceStore },
  job: Job,
  what: string,
  detail: JsonObject,
): Promise<void> {
  await world.evidence.add(job.id, {
    at: world.clock.now(),
    attempt: job.attempt,
    generation: job.generation,
    vendorKey: vendorKeyOf(job),
    what,
    detail,
  });
}
