import type { TickReport } from '../domain/reconcile-jobs.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

/** One line each; where the table itself is down, every job fails, and they all say the same. */
const mostErrorsWritten = 50;

/**
 * What a tick saw, for people: Lambda itself shows of an `AggregateError` only how many errors it holds, so that each of
 * them has to be written by itself.
 */
export function writeTick(report: TickReport, durationMs: number, log: Log): void {
  const { errors, looked } = report;
  for (const error of errors.slice(0, mostErrorsWritten)) log.write('reconcile_step_failed', { error });
  log.write('reconcile_finished', { checked: looked, count: errors.length, durationMs });
}

/** What a tick saw, as gauges: they are written each time, zero included, so that an alarm can end. */
export function publishTick(report: TickReport, metrics: Metrics): void {
  metrics.put('OldestUnreconciledAge', report.oldestDueMs);
  metrics.put('ReconcileErrors', report.errors.length);
  for (const [lane, flagged] of Object.entries(report.flagged)) metrics.put('FlaggedJobs', flagged, lane);
  const held = report.lanes.reduce((sum, { lane }) => sum + Object.keys(lane.held).length, 0);
  const queued = report.lanes.reduce((sum, lane) => sum + lane.queued, 0);
  const flagged = Object.values(report.flagged).reduce((sum, count) => sum + count, 0);
  metrics.put('ActiveJobs', queued, 'queued');
  metrics.put('ActiveJobs', held, 'held');
  metrics.put('ActiveJobs', flagged, 'needs_attention');
}
