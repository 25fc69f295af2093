import * as z from 'zod';
import { mayBeJobId } from '../domain/idempotency.ts';
import { tenantOf, type Job } from '../domain/job.ts';
import { settleFlagged, type OperatorWorld, type Settling } from '../domain/settle-flagged.ts';
import { answerJson, answerProblem, type HttpAnswer } from './answer.ts';
import { answerNoJob } from './job-answer.ts';
import {
  actorOf,
  auditBody,
  auditEntrySchema,
  evidenceBody,
  evidenceSchema,
  operatorJobBody,
  operatorJobSchema,
} from './operator-job.ts';
import { listFlaggedJobs, type OperateJobsSettings } from './list-flagged.ts';
import { authenticated, byRoute, readJsonBody, type AuthenticatedRequest, type Route } from './request.ts';
import { adoptBody, failBody, resendBody, retakeBody } from './settle-bodies.ts';
import { refusalOf, type Settlement } from './settled.ts';
import { settleMany } from './settle-many.ts';

export const operatorJobReadSchema = z.object({
  job: operatorJobSchema,
  evidence: z.array(evidenceSchema).describe('Oldest first.'),
  audit: z.array(auditEntrySchema).describe('What people did, oldest first.'),
});

const retryAfterSeconds = 5;

/** What a person may do with jobs that wait for one. A key acts on its own tenant's jobs only. */
export function operateJobsRoute(settings: OperateJobsSettings): Route {
  const route = (answer: (request: AuthenticatedRequest, settings: OperateJobsSettings) => Promise<HttpAnswer>) =>
    authenticated(settings.authenticator, 'operator', (request) => answer(request, settings));
  return byRoute({
    'GET /api/v1/operator/flagged': route(listFlaggedJobs),
    'POST /api/v1/operator/flagged/settle': route(settleMany),
    'GET /api/v1/operator/jobs/{id}': route(show),
    'POST /api/v1/operator/jobs/{id}/adopt': route(
      settle(adoptBody, ({ vendorJobId }) => ({ action: 'adopt', vendorJobId })),
    ),
    'POST /api/v1/operator/jobs/{id}/retake': route(settle(retakeBody, () => ({ action: 'retake' }))),
    'POST /api/v1/operator/jobs/{id}/resend': route(
      settle(resendBody, ({ notRunning }) => ({ action: 'resend', notRunning })),
    ),
    'POST /api/v1/operator/jobs/{id}/fail': route(
      settle(failBody, ({ notRunning }) => ({ action: 'fail', notRunning })),
    ),
  });
}

async function show(request: AuthenticatedRequest, { world, view }: OperateJobsSettings): Promise<HttpAnswer> {
  const found = await find(request, world);
  if (found.kind !== 'found') return answerNoJob(found.kind, request.requestId);
  const { job } = found;
  const [evidence, audit] = await Promise.all([world.evidence.read(job.id), world.audit.read(job.id)]);
  const body: z.infer<typeof operatorJobReadSchema> = {
    job: operatorJobBody(job, view),
    evidence: evidence.map(evidenceBody),
    audit: audit.map(auditBody),
  };
  return answerJson(200, body, request);
}

interface OrderBody {
  readonly reason: string;
  readonly generation: number;
  readonly dryRun: boolean;
}

function settle<Schema extends z.ZodType<OrderBody>>(
  schema: Schema,
  settlingOf: (body: z.infer<Schema>) => Settling,
): (request: AuthenticatedRequest, settings: OperateJobsSettings) => Promise<HttpAnswer> {
  return async (request, { world, view }) => {
    const { event, requestId, principal, log } = request;
    const body = readJsonBody(event, schema);
    if (body.kind === 'refused') return answerProblem(body.refusal, { requestId });
    const found = await find(request, world);
    if (found.kind !== 'found') return answerNoJob(found.kind, requestId);
    const { reason, generation, dryRun } = body.value;
    const settling = settlingOf(body.value);
    const order = { jobId: found.job.id, generation, reason, actor: actorOf(principal), settling, dryRun };
    const settled = await settleFlagged(world, order);
    await world.feed.flush();
    const { keyId } = principal;
    const acted = { reason: settling.action, keyId, generation, outcome: settled.kind };
    log.about({ jobId: found.job.id }).write('operator_acted', acted);
    if (settled.kind === 'done' || settled.kind === 'would') {
      const job = settled.kind === 'done' ? settled.job : found.job;
      const answer: Settlement = { dryRun, job: operatorJobBody(job, view) };
      return answerJson(200, answer, { requestId });
    }
    const refusal = await refusalOf(settled, principal.tenant, { jobs: world.jobs, view });
    const isLater = refusal.code === 'vendor_unreachable';
    return answerProblem(refusal, { requestId, ...(isLater ? { retryAfterSeconds } : {}) });
  };
}

type Found = { readonly kind: 'found'; readonly job: Job } | { readonly kind: 'absent' } | { readonly kind: 'erased' };

/** Another tenant's job is not there. */
async function find({ event, principal }: AuthenticatedRequest, { jobs }: Pick<OperatorWorld, 'jobs'>): Promise<Found> {
  const id = event.pathParameters?.['id'] ?? '';
  const read = mayBeJobId(id) ? await jobs.read(id) : undefined;
  const owner = read?.kind === 'job' ? read.job.owner : read?.tombstone.owner;
  if (read === undefined || owner === undefined || tenantOf(owner) !== principal.tenant) return { kind: 'absent' };
  return read.kind === 'job' ? { kind: 'found', job: read.job } : { kind: 'erased' };
}
