import * as z from 'zod';
import { isUserName, SERVER_USER, type Principal } from '../domain/access.ts';
import { eraseJob, eraseOwner, type EraseWorld } from '../domain/erase-jobs.ts';
import { ownerOf } from '../domain/job.ts';
import { showJob, type ShowJobWorld } from '../domain/show-job.ts';
import { answerJson, answerNothing, answerProblem, type HttpAnswer } from './answer.ts';
import type { Authenticator } from './authenticate.ts';
import { answerJob, answerNoJob } from './job-answer.ts';
import { authenticated, byRoute, readWith, type AuthenticatedRequest, type Route } from './request.ts';

export interface EraseJobsSettings {
  readonly authenticator: Authenticator;
  readonly world: Omit<EraseWorld, 'notAnnounced' | 'index'> &
    Omit<ShowJobWorld, 'jobs' | 'files' | 'index'> & {
      readonly files: EraseWorld['files'] & ShowJobWorld['files'];
      readonly index: EraseWorld['index'] & ShowJobWorld['index'];
    };
}

/**
 * Not in the path: API Gateway decodes that before it looks for the route, so that `a%2Fb` would find none, and `a%3Fb`
 * arrive as `a`, who is somebody else.
 */
export const eraseUserQuery = z.strictObject({
  user: z
    .string()
    .refine(isUserName, 'is no user name')
    .describe('Whose. Percent-encoded, like every value of a query.'),
});

export const ownerErasureSchema = z.object({
  erased: z.int().nonnegative(),
  pending: z.array(z.string()).describe('Jobs that may still be running: they were asked to cancel.'),
  more: z.boolean().describe('There were more jobs than one request erases.'),
});

/** Within the 30 seconds that API Gateway waits, with room for the page that is under way. */
const eraseForMs = 15_000;

export function eraseJobsRoute({ authenticator, world }: EraseJobsSettings): Route {
  return byRoute({
    'DELETE /api/v1/jobs/{id}': authenticated(authenticator, 'jobs', (request) => eraseOne(request, world)),
    'DELETE /api/v1/users': authenticated(authenticator, 'jobs', (request) => eraseUser(request, world)),
  });
}

/** 204 once it is gone; 202 with the job while it may still be running: ask again once it is done. */
async function eraseOne(request: AuthenticatedRequest, world: EraseJobsSettings['world']): Promise<HttpAnswer> {
  const { event, requestId, principal, log } = request;
  const id = event.pathParameters?.['id'] ?? '';
  const erasure = await eraseJob(id, principal, noting(request, world));
  await world.feed.flush();
  switch (erasure.kind) {
    case 'absent':
      return answerNoJob('absent', requestId);
    case 'pending':
      return answerJob(202, await showJob(erasure.job, world), { requestId });
    case 'erased':
      log.about({ jobId: id }).write('job_erased', {});
      return answerNothing(204, { requestId });
  }
}

/** 200 once nothing is left; 202 while something is: ask again later. */
async function eraseUser(request: AuthenticatedRequest, world: EraseJobsSettings['world']): Promise<HttpAnswer> {
  const { event, requestId, principal, log } = request;
  const query = readWith(eraseUserQuery, event.queryStringParameters ?? {});
  if (query.kind === 'refused') return answerProblem(query.refusal, { requestId });
  const { user } = query.value;
  if (!mayErase(principal, user)) return answerProblem({ code: 'forbidden' }, { requestId });
  const deadline = world.clock.now() + eraseForMs;
  const erasure = await eraseOwner(ownerOf(principal.tenant, user), deadline, noting(request, world));
  await world.feed.flush();
  log.write('job_erased', {});
  return answerJson(erasure.more || erasure.pending.length > 0 ? 202 : 200, erasure, { requestId });
}

function mayErase(principal: Principal, user: string): boolean {
  if (principal.user === user) return true;
  return principal.kind === 'key' && principal.user === SERVER_USER && principal.scopes.includes('act-for-user');
}

function noting({ log }: AuthenticatedRequest, world: EraseJobsSettings['world']): EraseWorld {
  return { ...world, notAnnounced: (error) => log.write('job_not_announced', { error }) };
}
