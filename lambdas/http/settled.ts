import * as z from 'zod';
import { tenantOf, type Job } from '../domain/job.ts';
import type { JobStore } from '../domain/ports.ts';
import type { Settled } from '../domain/settle-flagged.ts';
import { isoOrNull, operatorJobBody, operatorJobSchema, type OperatorView } from './operator-job.ts';
import type { ProblemCode, Refusal } from './problem.ts';

/** What became of a person's order, as an answer. */

export const settledSchema = z.object({
  dryRun: z.boolean().describe('True: nothing stands against it, and nothing was changed.'),
  job: operatorJobSchema.describe('As it is now.'),
});

export type Settlement = z.infer<typeof settledSchema>;

export type SettlingRefusal = Extract<
  ProblemCode,
  | 'job_not_found'
  | 'job_moved_on'
  | 'still_may_run'
  | 'retake_not_possible'
  | 'vendor_job_unknown'
  | 'vendor_job_taken'
  | 'vendor_unreachable'
  | 'vendor_not_configured'
>;

export interface RefusedOrder extends Refusal {
  readonly code: SettlingRefusal;
}

/** Where it was not done: why, with what the person needs to decide anew. */
export async function refusalOf(
  settled: Exclude<Settled, { kind: 'done' | 'would' }>,
  tenant: string,
  { jobs, view }: { readonly jobs: Pick<JobStore, 'read'>; readonly view: OperatorView },
): Promise<RefusedOrder> {
  switch (settled.kind) {
    case 'not_found':
      return { code: 'job_not_found' };
    case 'moved_on':
      return { code: 'job_moved_on', extra: { job: bodyOrNull(settled.job, view) } };
    case 'still_may_run':
      return { code: 'still_may_run', extra: { allowedFrom: isoOrNull(settled.allowedFrom) } };
    case 'cannot_retake':
      return { code: 'retake_not_possible', detail: settled.why };
    case 'vendor_job_unknown':
    case 'vendor_not_configured':
      return { code: settled.kind };
    case 'vendor_job_owned': {
      const owner = settled.jobId === undefined ? undefined : await jobs.read(settled.jobId);
      const isOurs = owner?.kind === 'job' && tenantOf(owner.job.owner) === tenant;
      // Another tenant's job is nobody's business, its id neither.
      return { code: 'vendor_job_taken', extra: { jobId: isOurs ? settled.jobId : null } };
    }
    case 'vendor_unreachable':
      return { code: 'vendor_unreachable', extra: { vendorSaid: settled.message } };
    default:
      return settled satisfies never;
  }
}

function bodyOrNull(job: Job | undefined, view: OperatorView) {
  return job === undefined ? null : operatorJobBody(job, view);
}
