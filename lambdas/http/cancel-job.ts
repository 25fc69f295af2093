import { cancelJob, type CancelWorld } from '../domain/cancel-job.ts';
import { showJob, type ShowJobWorld } from '../domain/show-job.ts';
import type { Authenticator } from './authenticate.ts';
import { answerJob, answerNoJob } from './job-answer.ts';
import { authenticated, type Route } from './request.ts';

export interface CancelJobSettings {
  readonly authenticator: Authenticator;
  readonly world: Omit<CancelWorld, 'notAnnounced'> & Omit<ShowJobWorld, 'jobs'>;
}

/** `POST /api/v1/jobs/{id}/cancel`: always the job as it is then, canceled or not. */
export function cancelJobRoute({ authenticator, world }: CancelJobSettings): Route {
  return authenticated(authenticator, 'jobs', async ({ event, requestId, principal, log }) => {
    const id = event.pathParameters?.['id'] ?? '';
    const notAnnounced = (error: unknown) => log.about({ jobId: id }).write('job_not_announced', { error });
    const canceled = await cancelJob(id, principal, { ...world, notAnnounced });
    await world.feed.flush();
    if (canceled.kind !== 'found') return answerNoJob(canceled.kind, requestId);
    log.about({ jobId: id }).write('cancel_requested', { state: canceled.job.state });
    return answerJob(200, await showJob(canceled.job, world), { requestId });
  });
}
