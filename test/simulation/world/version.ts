import { dispatchJob } from '../../../lambdas/domain/dispatch-job.ts';
import { reconcileJobs } from '../../../lambdas/domain/reconcile-jobs.ts';

/** The code that a sandbox runs: while a deployment goes on, some run the one before. */
export interface Version {
  readonly dispatchJob: typeof dispatchJob;
  readonly reconcileJobs: typeof reconcileJobs;
}

export const thisVersion: Version = { dispatchJob, reconcileJobs };
