import { Duration, Fn, Stack } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Environment } from '../environments.ts';
import type { ServedLane } from './alarms.ts';
import type { LaneMetric, SlowlaneMetrics } from './metrics.ts';

export interface GatewayDashboardProps {
  readonly environment: Environment;
  readonly metrics: SlowlaneMetrics;
  readonly lanes: readonly ServedLane[];
  readonly reconciler: IFunction;
  readonly httpApi: HttpApi;
}

const activeStates = ['queued', 'held', 'needs_attention'];
const width = 24;
const minute = { period: Duration.minutes(1) };

/** Four questions, most urgent first: are users waiting, are we losing money, is the vendor well, is the cap right. */
export class GatewayDashboard extends Construct {
  readonly url: string;

  constructor(scope: Construct, id: string, props: GatewayDashboardProps) {
    super(scope, id);
    const dashboard = new cloudwatch.Dashboard(this, 'Dashboard', {
      defaultInterval: Duration.hours(3),
      widgets: [...usersWaiting(props), ...losingMoney(props), ...vendorWell(props), ...capRight(props)],
    });
    const { region } = Stack.of(this);
    this.url = Fn.join('', [
      `https://console.aws.amazon.com/cloudwatch/home?region=${region}#dashboards:name=`,
      dashboard.dashboardName,
    ]);
  }
}

function usersWaiting({ lanes, metrics, httpApi }: GatewayDashboardProps): cloudwatch.IWidget[][] {
  return [
    [heading('Are users waiting?', 'Jobs in the queue, how long their rings wait, and what the API answers.')],
    [
      graph('Queued jobs', perLane(lanes, metrics, 'QueuedJobs')),
      graph(
        'Oldest ring (s)',
        lanes.map(({ lane }) =>
          lane.queue.metricApproximateAgeOfOldestMessage({ ...minute, statistic: 'Maximum', label: lane.name }),
        ),
      ),
      graph(
        'API latency p95 (ms) and errors',
        [httpApi.metricLatency({ ...minute, statistic: 'p95', label: 'p95' })],
        [
          httpApi.metricServerError({ ...minute, statistic: 'Sum', label: '5xx' }),
          httpApi.metricClientError({ ...minute, statistic: 'Sum', label: '4xx' }),
        ],
      ),
    ],
  ];
}

function losingMoney({ lanes, metrics }: GatewayDashboardProps): cloudwatch.IWidget[][] {
  return [
    [heading('Are we losing money?', 'Jobs that may be paid for without a result, sent twice, or beyond the cap.')],
    [
      graph(
        'Flagged jobs',
        perLane(lanes, metrics, 'FlaggedJobs'),
        perLane(lanes, metrics, 'NewlyFlaggedJobs', 'new: '),
      ),
      graph('Sends of unknown outcome, and conflicts', [
        ...perLane(lanes, metrics, 'UnknownSends', 'unknown: '),
        ...perLane(lanes, metrics, 'VendorConflicts', 'conflict: '),
      ]),
      graph('In flight without a hold, and swept holds', [
        ...perLane(lanes, metrics, 'MissingHolds', 'without: '),
        ...perLane(lanes, metrics, 'SweptHolds', 'swept: '),
      ]),
    ],
  ];
}

function vendorWell({ lanes, metrics, reconciler }: GatewayDashboardProps): cloudwatch.IWidget[][] {
  return [
    [
      heading(
        'Is the vendor well?',
        'Lanes that it refused, workers that failed, and jobs that it gave no word about.',
      ),
    ],
    [
      graph('Tripped lanes', perLane(lanes, metrics, 'TrippedLanes')),
      graph('Worker and reconciler errors', [
        ...lanes.map(({ lane, worker }) => worker.metricErrors({ ...minute, statistic: 'Sum', label: lane.name })),
        ...perLane(lanes, metrics, 'FailedRings', 'ring: '),
        reconciler.metricErrors({ ...minute, statistic: 'Sum', label: 'reconciler' }),
      ]),
      graph(
        'Oldest unreconciled (ms)',
        [metrics.of('OldestUnreconciledAge')],
        perLane(lanes, metrics, 'RunTime', 'run p95: '),
      ),
    ],
  ];
}

function capRight({ environment, lanes, metrics }: GatewayDashboardProps): cloudwatch.IWidget[][] {
  return [
    [
      heading(
        'Is the cap right?',
        'Holds at the cap while jobs wait: raise it if the vendor allows. Below it: it is enough.',
      ),
    ],
    [
      ...lanes.map(({ lane }) => heldGraph(lane.name, environment.lanes[lane.name]?.ceiling ?? 0, metrics)),
      graph(
        'Active jobs by state',
        activeStates.map((state) => metrics.ofState('ActiveJobs', state).with({ label: state })),
      ),
      graph(
        'Workers running',
        lanes.map(({ lane, worker }) =>
          worker.metric('ConcurrentExecutions', { ...minute, statistic: 'Maximum', label: lane.name }),
        ),
      ),
    ],
  ];
}

function heldGraph(lane: string, ceiling: number, metrics: SlowlaneMetrics): cloudwatch.IWidget {
  return new cloudwatch.GraphWidget({
    title: `Held and queued: ${lane}`,
    width: width / 3,
    left: [
      metrics.ofLane('HeldUnits', lane).with({ label: 'held' }),
      metrics.ofLane('QueuedJobs', lane).with({ label: 'queued' }),
    ],
    leftAnnotations: [{ value: ceiling, label: 'ceiling' }],
    leftYAxis: { min: 0 },
  });
}

function perLane(
  lanes: readonly ServedLane[],
  metrics: SlowlaneMetrics,
  name: LaneMetric,
  prefix = '',
): cloudwatch.IMetric[] {
  return lanes.map(({ lane }) => metrics.ofLane(name, lane.name).with({ label: `${prefix}${lane.name}` }));
}

function heading(question: string, how: string): cloudwatch.IWidget {
  return new cloudwatch.TextWidget({ markdown: `## ${question}\n${how}`, width, height: 2 });
}

function graph(title: string, left: cloudwatch.IMetric[], right: cloudwatch.IMetric[] = []): cloudwatch.IWidget {
  return new cloudwatch.GraphWidget({ title, width: width / 3, left, right, leftYAxis: { min: 0 } });
}
