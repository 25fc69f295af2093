import { Duration, type RemovalPolicy } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { functionEnvironments, type FunctionName, type VariableOf } from '../../lambdas/runtime/env.ts';
import type { FunctionSpec } from '../functions.ts';
import { acknowledgeWildcard } from './acknowledge.ts';
import { type GrantTargets, statementsFor } from './permissions.ts';

/** Where a function's code comes from: its bundle, or a stand-in where only the template matters. */
export type FunctionCode = (name: FunctionName) => lambda.Code;

/** Lambda takes at most 4 KB of variables. References are longer or shorter once deployed: leave them room. */
const maxVariableBytes = 3500;

export interface GatewayFunctionProps<Name extends FunctionName> {
  readonly name: Name;
  readonly spec: FunctionSpec;
  readonly code: lambda.Code;
  /** Exactly the variables that the function's schema reads: one that is missing does not compile. */
  readonly variables: Readonly<Record<VariableOf<Name>, string>>;
  readonly targets: GrantTargets;
  readonly logDays: logs.RetentionDays;
  readonly removalPolicy: RemovalPolicy;
  /** @default - a share of the account's unreserved concurrency */
  readonly reservedConcurrency?: number;
  /** True where the function sends to the queue that invokes it: Lambda would stop the chain after 16 hops. */
  readonly ringsItself?: boolean;
  /** True where an event must not be tried again by Lambda. @default false */
  readonly neverRetried?: boolean;
}

/** The only way to make a Lambda: its own role, its own log group, and nothing that it does not name. */
export class GatewayFunction<Name extends FunctionName = FunctionName> extends Construct {
  readonly lambda: lambda.Function;

  constructor(scope: Construct, id: string, props: GatewayFunctionProps<Name>) {
    super(scope, id);
    const { spec } = props;

    const logGroup = new logs.LogGroup(this, 'Logs', { retention: props.logDays, removalPolicy: props.removalPolicy });
    const role = this.createRole(logGroup, props);

    this.lambda = new lambda.Function(this, 'Function', {
      description: spec.does,
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64,
      code: props.code,
      handler: 'index.handler',
      memorySize: spec.memoryMb,
      timeout: Duration.seconds(spec.timeoutSeconds),
      environment: pickVariables(props.name, props.variables),
      role,
      logGroup,
      // In JSON format Lambda wraps each line in one of its own, and a metric in it is no longer a metric.
      loggingFormat: lambda.LoggingFormat.TEXT,
      ...(props.reservedConcurrency !== undefined && { reservedConcurrentExecutions: props.reservedConcurrency }),
      ...(props.ringsItself === true && { recursiveLoop: lambda.RecursiveLoop.ALLOW }),
      ...(props.neverRetried === true && { retryAttempts: 0, maxEventAge: Duration.minutes(1) }),
    });
    this.node.addValidation({ validate: () => this.oversizedVariables(props) });
  }

  private createRole(logGroup: logs.LogGroup, props: GatewayFunctionProps<Name>): iam.Role {
    const { statements, wildcards } = statementsFor(this, props.spec.grants, props.targets);
    const role = new iam.Role(this, 'Role', {
      assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
      description: props.spec.does,
      inlinePolicies: {
        Permissions: new iam.PolicyDocument({ statements: [writesLogs(logGroup), ...statements] }),
      },
    });
    for (const { resource, reason } of wildcards) acknowledgeWildcard(role, resource, reason);
    return role;
  }

  private oversizedVariables({ name, variables }: GatewayFunctionProps<Name>): string[] {
    const resolved: unknown = this.lambda.stack.resolve(pickVariables(name, variables));
    const bytes = Buffer.byteLength(JSON.stringify(resolved));
    if (bytes <= maxVariableBytes) return [];
    return [
      `${name}: its variables take about ${bytes} bytes and Lambda takes 4 KB: deploy fewer features or vendors.`,
    ];
  }
}

function writesLogs(logGroup: logs.LogGroup): iam.PolicyStatement {
  return new iam.PolicyStatement({
    actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    resources: [logGroup.logGroupArn],
  });
}

/** Only what the schema reads, whatever else the caller's object holds. */
function pickVariables(name: FunctionName, variables: Readonly<Record<string, string>>): Record<string, string> {
  const read = new Set(Object.keys(functionEnvironments[name].shape));
  return Object.fromEntries(Object.entries(variables).filter(([variable]) => read.has(variable)));
}
