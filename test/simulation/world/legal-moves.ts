import type { State } from '../../../lambdas/domain/job.ts';

/** Written down a second time, by hand: what the lifecycle's own table may not allow. */
export const mayBecome: Readonly<Record<State, readonly State[]>> = {
  queued: ['queued', 'dispatching', 'needs_attention', 'failed', 'canceled'],
  dispatching: ['dispatching', 'queued', 'running', 'needs_attention', 'succeeded', 'failed', 'canceled'],
  running: ['running', 'needs_attention', 'succeeded', 'failed', 'canceled'],
  needs_attention: ['needs_attention', 'queued', 'dispatching', 'running', 'succeeded', 'failed', 'canceled'],
  succeeded: ['succeeded'],
  failed: ['failed'],
  canceled: ['canceled'],
};
