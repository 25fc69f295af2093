import { canonicalJson } from './idempotency.ts';
import type { Job } from './job.ts';
import { vendorKeyOf } from './job.ts';
import { mostEvidenceRead, type EvidenceStore } from './ports.ts';
import type { JsonObject } from './vendor.ts';
import type { World } from './world.ts';

type EvidenceWorld = Pick<World, 'clock'> & { readonly evidence: EvidenceStore };

/** What a person will need to decide about this job, should it come to that. */
export async function recordEvidence(world: EvidenceWorld, job: Job, what: string, detail: JsonObject): Promise<void> {
  await world.evidence.add(job.id, {
    at: world.clock.now(),
    attempt: job.attempt,
    generation: job.generation,
    vendorKey: vendorKeyOf(job),
    what,
    detail,
  });
}

/**
 * For what others may say as often as they like: once is enough, and no more is stored than a person is ever shown. Of two
 * at the same moment both may be.
 */
export async function recordOnce(world: EvidenceWorld, job: Job, what: string, detail: JsonObject): Promise<void> {
  const known = await world.evidence.read(job.id);
  if (known.length >= mostEvidenceRead) return;
  const said = canonicalJson(detail);
  const isKnown = known.some(
    (each) => each.what === what && each.generation === job.generation && canonicalJson(each.detail) === said,
  );
  if (!isKnown) await recordEvidence(world, job, what, detail);
}
