import * as z from 'zod';
import type { Job } from '../domain/job.ts';
import { readJob, readJobByKey, type JobRead } from '../domain/read-job.ts';
import { resultLinks } from '../domain/result-link.ts';
import { showJob, type ShowJobWorld } from '../domain/show-job.ts';
import type { JobStore } from '../domain/ports.ts';
import { answerJson, answerProblem, answerRedirect, type HttpAnswer } from './answer.ts';
import type { Authenticator } from './authenticate.ts';
import { readKey } from './idempotency-key.ts';
import { answerJob, answerNoJob } from './job-answer.ts';
import { authenticated, byRoute, type AuthenticatedRequest, type Route } from './request.ts';

export const resultUrlSchema = z.object({ url: z.string(), expiresAt: z.iso.datetime() });

export interface ReadJobSettings {
  readonly authenticator: Authenticator;
  readonly world: ShowJobWorld & { readonly jobs: Pick<JobStore, 'read' | 'readRequest'> };
}

export function readJobRoute({ authenticator, world }: ReadJobSettings): Route {
  return byRoute({
    'GET /api/v1/jobs/{id}': authenticated(authenticator, 'jobs', async (request) =>
      answerRead(await readNamed(request, world), request, (job) => answerShown(job, request, world)),
    ),
    'GET /api/v1/jobs/by-key': authenticated(authenticator, 'jobs', async (request) => {
      const key = readKey(request.event);
      if (key.kind === 'refused') return answerProblem(key.refusal, { requestId: request.requestId });
      const read = await readJobByKey(key.value, request.principal, world.jobs);
      return answerRead(read, request, (job) => answerShown(job, request, world));
    }),
    'GET /api/v1/jobs/{id}/result': authenticated(authenticator, 'jobs', async (request) =>
      answerRead(await readNamed(request, world), request, (job) => answerResult(job, request, world)),
    ),
  });
}

function readNamed({ event, principal }: AuthenticatedRequest, { jobs }: ReadJobSettings['world']): Promise<JobRead> {
  return readJob(event.pathParameters?.['id'] ?? '', principal, jobs);
}

function answerRead(
  read: JobRead,
  { requestId }: AuthenticatedRequest,
  found: (job: Job) => Promise<HttpAnswer>,
): Promise<HttpAnswer> | HttpAnswer {
  return read.kind === 'found' ? found(read.job) : answerNoJob(read.kind, requestId);
}

async function answerShown(job: Job, { requestId }: AuthenticatedRequest, world: ShowJobWorld): Promise<HttpAnswer> {
  return answerJob(200, await showJob(job, world), { requestId });
}

async function answerResult(
  job: Job,
  { event, requestId }: AuthenticatedRequest,
  { files, clock }: ShowJobWorld,
): Promise<HttpAnswer> {
  if (job.state !== 'succeeded') return answerProblem({ code: noResultCode(job) }, { requestId });
  const [link] = await resultLinks(job, files, clock.now());
  if (link === undefined) return answerProblem({ code: 'result_expired' }, { requestId });
  if (!wantsJson(event.headers['accept'])) return answerRedirect(link.url, { requestId });
  const { url, expiresAtMs } = link;
  const answer: z.infer<typeof resultUrlSchema> = { url, expiresAt: new Date(expiresAtMs).toISOString() };
  return answerJson(200, answer, { requestId });
}

function noResultCode({ state }: Job): 'result_none' | 'result_not_ready' {
  return state === 'failed' || state === 'canceled' ? 'result_none' : 'result_not_ready';
}

function wantsJson(accept: string | undefined): boolean {
  return accept?.toLowerCase().includes('application/json') ?? false;
}
