import { isTerminal, type Job } from '../domain/job.ts';
import type { ShownJob } from '../domain/show-job.ts';
import { answerJson, answerProblem, type HttpAnswer } from './answer.ts';
import { jobBody } from './job-body.ts';

interface JobAnswerOptions {
  readonly requestId: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function answerJob(
  statusCode: 200 | 202,
  shown: ShownJob,
  { requestId, headers = {} }: JobAnswerOptions,
): HttpAnswer {
  const retryAfterSeconds = retryAfterOf(shown);
  return answerJson(statusCode, jobBody(shown.job, shown), { requestId, headers, retryAfterSeconds });
}

export function answerNoJob(kind: 'absent' | 'erased', requestId: string): HttpAnswer {
  return answerProblem({ code: kind === 'absent' ? 'job_not_found' : 'job_gone' }, { requestId });
}

const longestQueueWaitSeconds = 15;

/** In seconds, for those who poll: often enough to be lively, seldom enough to be cheap. Sockets are livelier. */
function retryAfterOf({ job, place }: ShownJob): number | undefined {
  if (isTerminal(job.state)) return undefined;
  switch (job.state) {
    case 'queued':
      return Math.min(2 + (place?.ahead ?? 0), longestQueueWaitSeconds);
    case 'dispatching':
    case 'running':
      return 2;
    case 'needs_attention':
      return 60;
  }
}

export function pathOf(job: Pick<Job, 'id'>): string {
  return `/api/v1/jobs/${job.id}`;
}
