import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { METRIC_NAMESPACE, METRICS, type MetricName } from '../../lambdas/runtime/metrics.ts';

type Divided<By extends 'Lane' | 'State'> = {
  [Name in MetricName]: (typeof METRICS)[Name] extends { readonly by: By } ? Name : never;
}[MetricName];

/** Published of each lane. */
export type LaneMetric = Divided<'Lane'>;
/** Published of each state. */
export type StateMetric = Divided<'State'>;
/** Published of the whole environment only. */
export type EnvironmentMetric = Exclude<MetricName, LaneMetric | StateMetric>;

/**
 * Our own metrics of one environment, by the names that the functions publish them under: one that nobody publishes can't
 * be watched. A counter is summed, of a gauge the highest level counts, of a timing the slow tail.
 */
export class SlowlaneMetrics {
  readonly #environment: string;

  constructor(environment: string) {
    this.#environment = environment;
  }

  of(name: EnvironmentMetric): cloudwatch.Metric {
    return this.#metric(name, {});
  }

  ofLane(name: LaneMetric, lane: string): cloudwatch.Metric {
    return this.#metric(name, { Lane: lane });
  }

  ofState(name: StateMetric, state: string): cloudwatch.Metric {
    return this.#metric(name, { State: state });
  }

  #metric(metricName: MetricName, dimensions: Record<string, string>): cloudwatch.Metric {
    return new cloudwatch.Metric({
      namespace: METRIC_NAMESPACE,
      metricName,
      statistic: statistics[METRICS[metricName].kind],
      dimensionsMap: { Environment: this.#environment, ...dimensions },
      period: Duration.minutes(1),
    });
  }
}

const statistics = { gauge: 'Maximum', counter: 'Sum', timing: 'p95' } as const;
