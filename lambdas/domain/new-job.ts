import type { Job, JobFields, Submitted } from './job.ts';

/** A job as its submit leaves it, or a test wants one to begin with. */
export function newJob(submitted: Submitted & Pick<JobFields, 'rank' | 'laneClosedMs'>): Job<'queued'> {
  return {
    ...submitted,
    state: 'queued',
    version: 1,
    attempt: 0,
    generation: 1,
    queuedAt: submitted.createdAt,
    // Until then the lane's own queue is what the reconciler looks at; the job itself only has to expire in time.
    checkAt: submitted.createdAt + submitted.maxQueueMs,
    ...untouched,
  };
}

/** What only later transitions write. */
const untouched = {
  hold: undefined,
  claimToken: undefined,
  sendBy: undefined,
  dispatchBy: undefined,
  sends: 0,
  tries: 0,
  firstTriedAt: undefined,
  maybeSent: false,
  vendorJobId: undefined,
  runUntil: undefined,
  watchUntil: undefined,
  startedAt: undefined,
  progress: undefined,
  cancelRequestedAt: undefined,
  flag: undefined,
  results: [],
  failure: undefined,
  finishedAt: undefined,
  ttl: undefined,
  announce: undefined,
  followers: [],
} as const;
