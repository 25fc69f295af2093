import * as z from 'zod';
import { ownerOf, states, type State } from '../domain/job.ts';
import { listJobs } from '../domain/list-jobs.ts';
import type { JobIndex, JobStore } from '../domain/ports.ts';
import { showJob, type ShowJobWorld } from '../domain/show-job.ts';
import { answerJson, answerProblem, type HttpAnswer } from './answer.ts';
import type { Authenticator } from './authenticate.ts';
import type { Cursors } from './cursor.ts';
import { jobBody, jobBodySchema } from './job-body.ts';
import { authenticated, readWith, type AuthenticatedRequest, type Route } from './request.ts';

export const listJobsQuery = z.strictObject({
  status: z
    .string()
    .transform((text) => text.split(',').map((status) => status.trim()))
    .pipe(z.array(z.enum(states)).min(1))
    .optional()
    .describe('One status, or several with commas between them.'),
  cursor: z.string().min(1).max(2_000).optional().describe('`nextCursor` of the list before.'),
  limit: z.coerce.number().int().min(1).max(50).default(20),
});

export const jobListSchema = z.object({
  jobs: z.array(jobBodySchema).describe('Newest first.'),
  nextCursor: z.string().nullable().describe('A list may be short, or empty, and still have a next one.'),
});

export interface ListJobsSettings {
  readonly authenticator: Authenticator;
  readonly cursors: Cursors;
  readonly world: ShowJobWorld & {
    readonly jobs: Pick<JobStore, 'read' | 'readRequest'>;
    readonly index: Pick<JobIndex, 'countAhead' | 'ofOwner'>;
  };
}

/** `GET /api/v1/jobs`: the caller's own. */
export function listJobsRoute(settings: ListJobsSettings): Route {
  return authenticated(settings.authenticator, 'jobs', (request) => list(request, settings));
}

async function list(
  { event, requestId, principal }: AuthenticatedRequest,
  { cursors, world }: ListJobsSettings,
): Promise<HttpAnswer> {
  const query = readWith(listJobsQuery, event.queryStringParameters ?? {});
  if (query.kind === 'refused') return answerProblem(query.refusal, { requestId });
  const { status, cursor: sent, limit } = query.value;
  const owner = ownerOf(principal.tenant, principal.user);
  const purpose = purposeOf(owner, status);
  const cursor = sent === undefined ? undefined : await cursors.read(sent, purpose);
  if (sent !== undefined && cursor === undefined) return answerProblem({ code: 'cursor_invalid' }, { requestId });
  const { jobs, next } = await listJobs({ owner, states: status, cursor, limit }, world);
  const shown = await Promise.all(jobs.map((job) => showJob(job, world)));
  const body: z.infer<typeof jobListSchema> = {
    jobs: shown.map((each) => jobBody(each.job, each)),
    nextCursor: next === undefined ? null : await cursors.sign(next, purpose),
  };
  return answerJson(200, body, { requestId });
}

function purposeOf(owner: string, status: readonly State[] | undefined): string {
  return JSON.stringify(['jobs', owner, status?.toSorted() ?? null]);
}
