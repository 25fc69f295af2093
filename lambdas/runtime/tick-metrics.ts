import type { TickReport } from '../domain/reconcile-jobs.ts';
import type { Metrics } from './metrics.ts';

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
