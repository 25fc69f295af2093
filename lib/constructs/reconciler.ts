import { Duration } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';

export interface ReconcilerProps {
  readonly function: IFunction;
  readonly everyMinutes: number;
}

/** The tick. It is never tried again: the next one does all that this one left, and a late one would only overlap it. */
export class Reconciler extends Construct {
  constructor(scope: Construct, id: string, props: ReconcilerProps) {
    super(scope, id);
    new events.Rule(this, 'Tick', {
      description: 'Asks the vendors about every active job',
      schedule: events.Schedule.rate(Duration.minutes(props.everyMinutes)),
      targets: [new LambdaFunction(props.function, { retryAttempts: 0, maxEventAge: Duration.minutes(1) })],
    });
  }
}
