import type { Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { GatewayAlarmProps } from '../../lib/constructs/alarm.ts';
import type { GatewayFunctionProps } from '../../lib/constructs/gateway-function.ts';
import type { SlowlaneMetrics } from '../../lib/constructs/metrics.ts';
import type { EnvironmentSettings } from '../../lib/environments.ts';

/** What must not compile: `tsc` fails where an expected error is missing. Nothing here runs. */

declare const metric: Metric;
declare const whenMissing: TreatMissingData;
declare const notify: ITopic;
const rest = { metric, comparison: '>=', threshold: 1, whenMissing, notify } as const;

({ ...rest, impact: 'Users wait.', runbook: 'queue-age' }) satisfies GatewayAlarmProps;
// @ts-expect-error an alarm that does not say what it means
({ ...rest, runbook: 'queue-age' }) satisfies GatewayAlarmProps;
// @ts-expect-error an alarm that does not say what to do
({ ...rest, impact: 'Users wait.' }) satisfies GatewayAlarmProps;
// @ts-expect-error a section that the runbook does not have
({ ...rest, impact: 'Users wait.', runbook: 'look-around' }) satisfies GatewayAlarmProps;

type Variables = GatewayFunctionProps<'disconnect-socket'>['variables'];
({ ENVIRONMENT: 'dev', TABLE_NAME: 'jobs' }) satisfies Variables;
// @ts-expect-error a function whose schema reads TABLE_NAME can't be deployed without it
({ ENVIRONMENT: 'dev' }) satisfies Variables;
// @ts-expect-error a variable is text
({ ENVIRONMENT: 'dev', TABLE_NAME: 1 }) satisfies Variables;

declare const metrics: SlowlaneMetrics;
metrics.ofLane('QueuedJobs', 'default') satisfies Metric;
// @ts-expect-error a metric that nobody publishes
metrics.ofLane('QueuedJob', 'default') satisfies Metric;
// @ts-expect-error one that is published per lane has no value for the environment
metrics.of('QueuedJobs') satisfies Metric;

declare const settings: EnvironmentSettings;
// @ts-expect-error an environment without lanes
({ ...settings, lanes: undefined }) satisfies EnvironmentSettings;
