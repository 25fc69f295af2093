import { tenantOf, type Job } from '../domain/job.ts';
import type { Notice, Notices } from '../domain/world.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

/** What the domain has to tell, as log lines and metrics. */
export function createNotices(log: Log, metrics: Metrics): Notices {
  return { note: (notice) => note(notice, log, metrics) };
}

function note(notice: Notice, log: Log, metrics: Metrics): void {
  switch (notice.kind) {
    case 'claimed':
      metrics.put('QueueTime', Math.max(0, (notice.job.startedAt ?? 0) - notice.job.queuedAt), notice.job.lane);
      return about(log, notice.job).write('hold_taken', { lane: notice.job.lane, attempt: notice.job.attempt });
    case 'sent':
      return noteSend(notice, log, metrics);
    case 'moved':
      return noteMove(notice.job, notice.transition, log, metrics);
    case 'flagged':
      metrics.put('NewlyFlaggedJobs', 1, notice.job.lane);
      return writeMove(notice.job, notice.job.flag?.code ?? 'flagged', log);
    case 'vendor_job_conflict': {
      const { job, vendorJobId } = notice;
      metrics.put('VendorConflicts', 1, job.lane);
      const { vendor, generation } = job;
      return about(log, job).write('vendor_job_conflict', { vendor, vendorJobId, generation });
    }
    case 'running_without_hold': {
      const { vendor, vendorJobId, generation, lane } = notice.job;
      metrics.put('VendorConflicts', 1, lane);
      return about(log, notice.job).write('vendor_runs_after_release', { vendor, vendorJobId, generation });
    }
    case 'hold_missing':
      metrics.put('MissingHolds', 1, notice.job.lane);
      return about(log, notice.job).write('hold_missing', { lane: notice.job.lane, state: notice.job.state });
    case 'vendor_not_configured':
      return about(log, notice.job).write('vendor_unreachable', {
        vendor: notice.job.vendor,
        reason: 'It is not configured in this deployment.',
      });
    case 'lane_tripped':
      metrics.put('TrippedLanes', 1, notice.lane);
      // The vendor's own words may quote what a user wrote: they are the lane's item's to keep, for its operator.
      return log.write('lane_tripped', {
        lane: notice.lane,
        reason: 'The vendor takes nothing from us: the lane says why.',
      });
    case 'lane_reopened':
      return log.write('lane_changed', { lane: notice.lane, state: 'open', reason: 'The probe was answered.' });
    case 'swept':
      metrics.put('SweptHolds', 1, notice.lane);
      return log.about({ jobId: notice.jobId }).write('hold_swept', { lane: notice.lane, reason: 'unbound' });
    case 'announced':
      return about(log, notice.job).write('job_announced', {
        eventType: notice.job.state,
        version: notice.job.announce,
      });
    case 'lane_seen': {
      const { lane, queued } = notice;
      metrics.put('QueuedJobs', queued, lane.lane);
      metrics.put('HeldUnits', Object.keys(lane.held).length, lane.lane);
      return metrics.put('TrippedLanes', lane.state === 'tripped' ? 1 : 0, lane.lane);
    }
    default:
      return notice satisfies never;
  }
}

function about(log: Log, job: Job): Log {
  return log.about({ jobId: job.id });
}

function noteSend({ job, outcome, cause }: Notice & { kind: 'sent' }, log: Log, metrics: Metrics): void {
  const { vendor, generation, lane } = job;
  metrics.put('VendorSends', 1, lane);
  about(log, job).write('vendor_called', { vendor, generation, outcome });
  if (outcome === 'unknown') {
    metrics.put('UnknownSends', 1, lane);
    about(log, job).write('vendor_outcome_unknown', { vendor, generation, reason: cause });
  }
  if (outcome === 'account-refused') about(log, job).write('vendor_account_refused', { vendor, lane });
}

function noteMove(job: Job, transition: string, log: Log, metrics: Metrics): void {
  writeMove(job, transition, log);
  const runMs = (job.finishedAt ?? 0) - (job.startedAt ?? 0);
  switch (job.state) {
    case 'succeeded':
      metrics.put('SucceededJobs', 1, job.lane);
      return metrics.put('RunTime', Math.max(0, runMs), job.lane);
    case 'failed':
      return metrics.put('FailedJobs', 1, job.lane);
    case 'canceled':
      return metrics.put('CanceledJobs', 1, job.lane);
    case 'queued':
    case 'dispatching':
    case 'running':
    case 'needs_attention':
      return undefined;
    default:
      return job satisfies never;
  }
}

function writeMove(job: Job, reason: string, log: Log): void {
  const { state, attempt, generation, version } = job;
  // A flagged job is shown and settled with a key of its tenant.
  const tenant = state === 'needs_attention' ? tenantOf(job.owner) : undefined;
  about(log, job).write('job_moved', { to: state, attempt, generation, version, reason, tenant });
}
