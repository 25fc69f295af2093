import type { Principal } from '../domain/access.ts';
import type { ShowJobWorld } from '../domain/show-job.ts';
import { showJob } from '../domain/show-job.ts';
import { submitJob, type SubmitOutcome, type SubmitRefusal, type SubmitWorld } from '../domain/submit-job.ts';
import type { Log } from '../runtime/log.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { answerProblem, type HttpAnswer } from './answer.ts';
import type { Authenticator } from './authenticate.ts';
import { readKey } from './idempotency-key.ts';
import { answerJob, answerNoJob, pathOf } from './job-answer.ts';
import type { Refusal } from './problem.ts';
import { authenticated, shortErrors, type AuthenticatedRequest, type Route } from './request.ts';
import { readSubmitBody, type SubmitBody } from './submit-body.ts';

export interface SubmitJobSettings {
  readonly authenticator: Authenticator;
  readonly world: Omit<SubmitWorld, 'notices'> & ShowJobWorld;
  readonly metrics: Metrics;
  /** Of the HTTP API, without a trailing slash. */
  readonly publicUrl: string;
}

/** `POST /api/v1/jobs` */
export function submitJobRoute(settings: SubmitJobSettings): Route {
  return authenticated(settings.authenticator, 'jobs', async (request) => {
    const { event, requestId, principal } = request;
    const key = readKey(event);
    if (key.kind === 'refused') return answerProblem(key.refusal, { requestId });
    const body = await readSubmitBody(event);
    if (body.kind === 'refused') return answerProblem(body.refusal, { requestId });
    return answer(await submit(principal, key.value, body.value, request.log, settings), request, settings);
  });
}

function submit(
  principal: Principal,
  key: string,
  body: SubmitBody,
  log: Log,
  { world }: SubmitJobSettings,
): Promise<SubmitOutcome> {
  const notices = {
    notRung: (lane: string, error: unknown) => log.write('lane_not_rung', { lane, error }),
    leftoversNotDeleted: (error: unknown) => log.write('leftovers_not_deleted', { error }),
  };
  return submitJob({ principal, key, ...body }, { ...world, notices });
}

async function answer(
  outcome: SubmitOutcome,
  { requestId, log }: AuthenticatedRequest,
  { world, metrics, publicUrl }: SubmitJobSettings,
): Promise<HttpAnswer> {
  switch (outcome.kind) {
    case 'accepted': {
      const { job, metadata } = outcome;
      log.about({ jobId: job.id }).write('job_submitted', job);
      metrics.put('SubmittedJobs', 1, job.lane);
      const headers = { Location: `${publicUrl}${pathOf(job)}` };
      // Its place is not known yet: the index, which would tell, lags behind the put.
      const shown = { job, metadata, place: undefined, links: [], price: world.prices(job.vendor) };
      return answerJob(202, shown, { requestId, headers });
    }
    case 'replayed': {
      const { job } = outcome;
      log.about({ jobId: job.id }).write('job_replayed', { state: job.state });
      const headers = { Location: `${publicUrl}${pathOf(job)}`, 'Idempotent-Replayed': 'true' };
      return answerJob(200, await showJob(job, world), { requestId, headers });
    }
    case 'mismatch':
      return answerProblem({ code: 'idempotency_key_reused', extra: { jobId: outcome.jobId } }, { requestId });
    case 'erased':
      return answerNoJob('erased', requestId);
    case 'refused':
      return answerProblem(refusalOf(outcome.refusal), { requestId, retryAfterSeconds: retryAfterOf(outcome.refusal) });
  }
}

function refusalOf(refusal: SubmitRefusal): Refusal {
  switch (refusal.code) {
    case 'parameters_invalid':
      return { code: refusal.code, extra: { errors: shortErrors(refusal.errors) } };
    case 'metadata_too_large':
      return { code: 'request_invalid', extra: { errors: [{ field: 'metadata', message: 'is too large' }] } };
    case 'feature_unknown':
    case 'feature_not_allowed':
    case 'consent_required':
    case 'active_jobs_limit':
    case 'submit_rate_limit':
      return { code: refusal.code };
    default:
      return { code: refusal.code, detail: refusal.detail };
  }
}

function retryAfterOf(refusal: SubmitRefusal): number | undefined {
  return 'retryAfterMs' in refusal ? refusal.retryAfterMs / 1000 : undefined;
}
