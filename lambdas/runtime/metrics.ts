/**
 * Metrics as CloudWatch Embedded Metric Format lines: no API call, no cost in latency. The alarms read this table, so a
 * metric that nobody writes can't be watched by mistake. No dimension per tenant: each combination is a paid metric.
 */

import type { Clock } from '../domain/ports.ts';

type Unit = 'Count' | 'Milliseconds';

interface Metric {
  readonly unit: Unit;
  /** `gauge`: a level, written each tick · `counter`: things that happened · `timing`: how long one took. */
  readonly kind: 'gauge' | 'counter' | 'timing';
  readonly by?: 'Lane' | 'State';
}

export const METRIC_NAMESPACE = 'Slowlane';

export const METRICS = {
  /** How long the most neglected active job has waited for a look past its time: the reconciler's own health. */
  OldestUnreconciledAge: { unit: 'Milliseconds', kind: 'gauge' },
  ActiveJobs: { unit: 'Count', kind: 'gauge', by: 'State' },
  /** Jobs that wait for a person; stays up until they are settled. */
  FlaggedJobs: { unit: 'Count', kind: 'gauge', by: 'Lane' },
  /** Raised by each new flag, so that a second one is noticed while the first still stands. */
  NewlyFlaggedJobs: { unit: 'Count', kind: 'counter', by: 'Lane' },
  HeldUnits: { unit: 'Count', kind: 'gauge', by: 'Lane' },
  QueuedJobs: { unit: 'Count', kind: 'gauge', by: 'Lane' },
  SweptHolds: { unit: 'Count', kind: 'counter', by: 'Lane' },
  /** A job that may be running without its unit: never legal. */
  MissingHolds: { unit: 'Count', kind: 'counter', by: 'Lane' },
  TrippedLanes: { unit: 'Count', kind: 'gauge', by: 'Lane' },
  ReconcileErrors: { unit: 'Count', kind: 'counter' },
  /** Rings whose work threw. They go back to their queue one by one, which Lambda's own metric counts as a success. */
  FailedRings: { unit: 'Count', kind: 'counter', by: 'Lane' },

  SubmittedJobs: { unit: 'Count', kind: 'counter', by: 'Lane' },
  SucceededJobs: { unit: 'Count', kind: 'counter', by: 'Lane' },
  FailedJobs: { unit: 'Count', kind: 'counter', by: 'Lane' },
  CanceledJobs: { unit: 'Count', kind: 'counter', by: 'Lane' },
  VendorSends: { unit: 'Count', kind: 'counter', by: 'Lane' },
  UnknownSends: { unit: 'Count', kind: 'counter', by: 'Lane' },
  /** A second vendor job for one generation, or one that runs after its unit was freed: money may have been spent twice. */
  VendorConflicts: { unit: 'Count', kind: 'counter', by: 'Lane' },
  QueueTime: { unit: 'Milliseconds', kind: 'timing', by: 'Lane' },
  RunTime: { unit: 'Milliseconds', kind: 'timing', by: 'Lane' },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;
type Dimension<Name extends MetricName> = (typeof METRICS)[Name] extends { by: 'Lane' }
  ? [lane: string]
  : (typeof METRICS)[Name] extends { by: 'State' }
    ? [state: string]
    : [];

export interface Metrics {
  /** Milliseconds for what is measured in them, else a number of things. The last argument is the lane or state. */
  put<Name extends MetricName>(name: Name, value: number, ...dimension: Dimension<Name>): void;
}

export interface MetricSettings {
  readonly environment: string;
  readonly clock: Clock;
  /** Takes one line without its newline; in a Lambda that is standard output. */
  readonly writeLine?: (line: string) => void;
}

export function createMetrics({
  environment,
  clock,
  writeLine = (line) => console.log(line),
}: MetricSettings): Metrics {
  return {
    put: (name, value, ...[divided]) => {
      const metric: Metric = METRICS[name];
      const by = metric.by === undefined || divided === undefined ? undefined : { [metric.by]: divided };
      // A level is a fact of one lane, but what happened also counts for the environment as a whole.
      const total = by === undefined || metric.kind !== 'gauge' ? [['Environment']] : [];
      const parts = by === undefined ? [] : [['Environment', ...Object.keys(by)]];
      const directive = {
        Namespace: METRIC_NAMESPACE,
        Dimensions: [...total, ...parts],
        Metrics: [{ Name: name, Unit: metric.unit }],
      };
      const head = { _aws: { Timestamp: clock.now(), CloudWatchMetrics: [directive] } };
      writeLine(JSON.stringify({ ...head, Environment: environment, ...by, [name]: value }));
    },
  };
}
