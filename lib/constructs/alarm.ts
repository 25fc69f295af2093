import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';

/** A heading of docs/runbook.md, as the anchor that it is linked by. */
export type RunbookSection =
  | 'flagged-jobs'
  | 'newly-flagged-jobs'
  | 'unreconciled-jobs'
  | 'queue-age'
  | 'dead-letters'
  | 'reconciler-failing'
  | 'reconciler-not-running'
  | 'worker-errors'
  | 'api-errors'
  | 'lane-tripped'
  | 'jobs-without-hold'
  | 'vendor-conflicts';

export interface GatewayAlarmProps {
  /** What it means to users or to the bill, in one sentence: whoever is woken reads this first. */
  readonly impact: string;
  /** What to do then. */
  readonly runbook: RunbookSection;
  readonly metric: cloudwatch.IMetric;
  readonly comparison: '>=' | '<';
  readonly threshold: number;
  /** How many periods of the metric must be wrong. @default 1 */
  readonly periods?: number;
  readonly whenMissing: cloudwatch.TreatMissingData;
  readonly notify: ITopic;
}

/** An alarm that says what it means and what to do. It can't be made without either. */
export class GatewayAlarm extends Construct {
  readonly alarm: cloudwatch.Alarm;

  constructor(scope: Construct, id: string, props: GatewayAlarmProps) {
    super(scope, id);
    this.alarm = new cloudwatch.Alarm(this, 'Alarm', {
      alarmDescription: `${props.impact} What to do: docs/runbook.md#${props.runbook}`,
      metric: props.metric,
      comparisonOperator:
        props.comparison === '<'
          ? cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
          : cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      threshold: props.threshold,
      evaluationPeriods: props.periods ?? 1,
      treatMissingData: props.whenMissing,
    });
    this.alarm.addAlarmAction(new SnsAction(props.notify));
    this.alarm.addOkAction(new SnsAction(props.notify));
  }
}
