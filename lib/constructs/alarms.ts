import { ArnFormat, Duration, Stack } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import * as iam from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import * as sns from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { Environment } from '../environments.ts';
import { GatewayAlarm, type GatewayAlarmProps } from './alarm.ts';
import type { Lane } from './lane.ts';
import type { SlowlaneMetrics } from './metrics.ts';

export interface ServedLane {
  readonly lane: Lane;
  readonly worker: IFunction;
}

export interface AlarmsProps {
  readonly environment: Environment;
  readonly metrics: SlowlaneMetrics;
  readonly lanes: readonly ServedLane[];
  readonly reconciler: IFunction;
  readonly httpApi: HttpApi;
}

const { NOT_BREACHING, BREACHING, IGNORE } = TreatMissingData;
const fiveMinutes = { period: Duration.minutes(5), statistic: 'Sum' };

/** Everything that should wake somebody, and the topic of the environment that it goes to. */
export class Alarms extends Construct {
  readonly topic: sns.Topic;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    const { alarms, name } = props.environment;
    this.topic = new sns.Topic(this, 'Topic', { displayName: `Slowlane ${name}`, enforceSSL: true });
    this.letAlarmsPublish();
    for (const email of alarms === 'none' ? [] : alarms.emails)
      this.topic.addSubscription(new EmailSubscription(email));

    this.watchReconciler(props);
    for (const served of props.lanes) {
      this.watchMoney(served.lane.name, props);
      this.watchLane(served, props.metrics);
    }
    this.alarm('ApiErrors', {
      impact: 'Apps get errors instead of answers; users may be unable to start or see their jobs.',
      runbook: 'api-errors',
      metric: props.httpApi.metricServerError(fiveMinutes),
      comparison: '>=',
      threshold: 5,
      whenMissing: NOT_BREACHING,
    });
  }

  /** What SNS allows by itself ends with the first policy of a topic, and `enforceSSL` makes one. */
  private letAlarmsPublish(): void {
    const stack = Stack.of(this);
    const anyAlarm = { service: 'cloudwatch', resource: 'alarm', resourceName: '*' };
    this.topic.addToResourcePolicy(
      new iam.PolicyStatement({
        sid: 'AllowAlarms',
        principals: [new iam.ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: {
          StringEquals: { 'aws:SourceAccount': stack.account },
          ArnLike: {
            'aws:SourceArn': stack.formatArn({ ...anyAlarm, arnFormat: ArnFormat.COLON_RESOURCE_NAME }),
          },
        },
      }),
    );
  }

  private watchMoney(lane: string, { environment, metrics }: AlarmsProps): void {
    const interval = Duration.minutes(environment.reconcileEveryMinutes);
    this.alarm(`FlaggedJobs-${lane}`, {
      impact: `Jobs of lane ${lane} wait for a person: each may have been paid for, and none goes on by itself.`,
      runbook: 'flagged-jobs',
      metric: metrics.ofLane('FlaggedJobs', lane),
      comparison: '>=',
      threshold: 1,
      // A silent reconciler must not look as if someone had settled them.
      whenMissing: IGNORE,
    });
    this.alarm(`NewlyFlaggedJobs-${lane}`, {
      impact: `Another job of lane ${lane} was flagged; the level alone would not tell of a second one.`,
      runbook: 'newly-flagged-jobs',
      metric: metrics.ofLane('NewlyFlaggedJobs', lane),
      comparison: '>=',
      threshold: 1,
      whenMissing: NOT_BREACHING,
    });
    this.alarm(`JobsWithoutHold-${lane}`, {
      impact: `A job is in flight that no unit of lane ${lane} stands for: more may run at the vendor than its cap.`,
      runbook: 'jobs-without-hold',
      // Counted anew by each tick: a shorter period would end the alarm between two of them.
      metric: metrics.ofLane('MissingHolds', lane).with({ period: interval }),
      comparison: '>=',
      threshold: 1,
      whenMissing: NOT_BREACHING,
    });
    this.alarm(`VendorConflicts-${lane}`, {
      impact: `The vendor ran a job of lane ${lane} twice, or one that we held for ended: it may be paid for twice.`,
      runbook: 'vendor-conflicts',
      metric: metrics.ofLane('VendorConflicts', lane),
      comparison: '>=',
      threshold: 1,
      whenMissing: NOT_BREACHING,
    });
  }

  private watchReconciler({ environment, metrics, reconciler }: AlarmsProps): void {
    const everyMinutes = environment.reconcileEveryMinutes;
    // Ticks are counted over intervals: five minutes may hold only one of them.
    const fiveIntervals = { period: Duration.minutes(5 * everyMinutes), statistic: 'Sum' };
    this.alarm('UnreconciledJobs', {
      impact: 'Some jobs were not checked for three intervals: users may see a state that is no longer true.',
      runbook: 'unreconciled-jobs',
      metric: metrics.of('OldestUnreconciledAge').with({ period: Duration.minutes(everyMinutes) }),
      comparison: '>=',
      threshold: 3 * everyMinutes * 60_000,
      periods: 3,
      whenMissing: NOT_BREACHING,
    });
    this.alarm('ReconcilerFailing', {
      impact:
        'The safety net has holes: whatever it fails on stays as it is, lost webhooks and crashed workers included.',
      runbook: 'reconciler-failing',
      metric: reconciler.metricErrors(fiveIntervals),
      comparison: '>=',
      threshold: 3,
      whenMissing: NOT_BREACHING,
    });
    this.alarm('ReconcilerNotRunning', {
      impact: 'The safety net is gone: nothing recovers lost webhooks, crashed workers or lost rings.',
      runbook: 'reconciler-not-running',
      metric: reconciler.metricInvocations(fiveIntervals),
      comparison: '<',
      threshold: 1,
      whenMissing: BREACHING,
    });
  }

  private watchLane({ lane, worker }: ServedLane, metrics: SlowlaneMetrics): void {
    const name = lane.name;
    this.alarm(`LaneTripped-${name}`, {
      impact: `The vendor refuses our account (key, balance or ban): lane ${name} sends nothing, and its queue grows.`,
      runbook: 'lane-tripped',
      metric: metrics.ofLane('TrippedLanes', name),
      comparison: '>=',
      threshold: 1,
      whenMissing: IGNORE,
    });
    this.alarm(`QueueAge-${name}`, {
      impact: `Rings of lane ${name} are not served: jobs start only when the reconciler rings again.`,
      runbook: 'queue-age',
      metric: lane.queue.metricApproximateAgeOfOldestMessage({ period: Duration.minutes(1), statistic: 'Maximum' }),
      comparison: '>=',
      // Longer than a crashed worker's ring stays hidden.
      threshold: 900,
      periods: 3,
      whenMissing: NOT_BREACHING,
    });
    this.alarm(`DeadLetters-${name}`, {
      impact: `A worker of lane ${name} crashed on the same ring again and again; its job relies on the reconciler.`,
      runbook: 'dead-letters',
      metric: visible(lane),
      comparison: '>=',
      threshold: 1,
      whenMissing: NOT_BREACHING,
    });
    this.alarm(`WorkerErrors-${name}`, {
      impact: `Workers of lane ${name} crash: jobs are delayed to the next tick, and some may be flagged.`,
      runbook: 'worker-errors',
      metric: worker.metricErrors(fiveMinutes),
      comparison: '>=',
      threshold: 3,
      whenMissing: NOT_BREACHING,
    });
    this.alarm(`FailedRings-${name}`, {
      impact: `Work of lane ${name} ends in errors: jobs are delayed to the next tick, and some may be flagged.`,
      runbook: 'worker-errors',
      metric: metrics.ofLane('FailedRings', name).with(fiveMinutes),
      comparison: '>=',
      threshold: 3,
      whenMissing: NOT_BREACHING,
    });
  }

  private alarm(id: string, props: Omit<GatewayAlarmProps, 'notify'>): void {
    new GatewayAlarm(this, id, { ...props, notify: this.topic });
  }
}

function visible({ deadLetters }: Lane): IMetric {
  return deadLetters.metricApproximateNumberOfMessagesVisible({ period: Duration.minutes(1), statistic: 'Maximum' });
}
