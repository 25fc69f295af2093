import { Annotations, CfnOutput, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { functionEnvironments, type FunctionName, type VariableName } from '../lambdas/runtime/env.ts';
import { planConcurrency } from './concurrency.ts';
import { Alarms, type ServedLane } from './constructs/alarms.ts';
import { GatewayDashboard } from './constructs/dashboard.ts';
import { type FunctionCode, GatewayFunction } from './constructs/gateway-function.ts';
import { HttpApi } from './constructs/http-api.ts';
import { Lane } from './constructs/lane.ts';
import { SlowlaneMetrics } from './constructs/metrics.ts';
import type { GrantTargets } from './constructs/permissions.ts';
import { Reconciler } from './constructs/reconciler.ts';
import { SocketApi } from './constructs/socket-api.ts';
import type { Environment } from './environments.ts';
import { functionSpecs, type SharedFunctionName } from './functions.ts';
import type { SlowlaneData } from './slowlane-data.ts';

export interface SlowlaneProps {
  readonly environment: Environment;
  readonly data: SlowlaneData;
  readonly code: FunctionCode;
}

type SharedVariables = Readonly<Record<Exclude<VariableName, 'LANE'>, string>>;

/** Everything that may be replaced, in the order in which a job goes through it. */
export class Slowlane extends Construct {
  readonly eventBus: EventBus;
  readonly httpApi: HttpApi;
  readonly socketApi: SocketApi;
  readonly lanes: readonly Lane[];

  private readonly props: SlowlaneProps;
  private readonly reserves: boolean;
  private readonly variables: SharedVariables;

  constructor(scope: Construct, id: string, props: SlowlaneProps) {
    super(scope, id);
    this.props = props;
    const { environment } = props;
    const plan = planConcurrency(environment);
    this.reserves = plan.kind === 'reserve';
    if (plan.kind === 'share') Annotations.of(this).addWarningV2('slowlane:concurrency-shared', plan.because);

    // Logs are no data that must survive: their retention is what bounds them.
    const removalPolicy = RemovalPolicy.DESTROY;
    this.httpApi = new HttpApi(this, 'HttpApi', { environment, removalPolicy });
    this.socketApi = new SocketApi(this, 'SocketApi', { environment, removalPolicy });
    this.lanes = Object.entries(environment.lanes).map(
      ([name, { ceiling }]) => new Lane(this, `Lane-${name}`, { name, ceiling }),
    );
    this.eventBus = new EventBus(this, 'Events', { description: 'Jobs that ended or need attention' });
    this.variables = this.describeDeployment();

    const served = this.lanes.map((lane) => this.serveLane(lane));
    const functions = this.createFunctions();
    this.httpApi.serve(functions);
    this.socketApi.serve(functions);
    const reconciler = functions['reconcile-jobs'];
    new Reconciler(this, 'Reconciler', { function: reconciler, everyMinutes: environment.reconcileEveryMinutes });

    const metrics = new SlowlaneMetrics(environment.name);
    const observed = { environment, metrics, lanes: served, reconciler, httpApi: this.httpApi.api };
    new Alarms(this, 'Alarms', observed);
    const dashboard = new GatewayDashboard(this, 'Dashboard', observed);
    this.printOutputs(dashboard);
  }

  /** Every variable that a shared function may read, in the spelling of lambdas/runtime/env.ts. */
  private describeDeployment(): SharedVariables {
    const { data, environment } = this.props;
    const { features, issuers, limits } = environment;
    const { jobDays, evidenceDays, auditDays } = environment.retention;
    const json = (value: unknown) => Stack.of(this).toJsonString(value);
    return {
      ENVIRONMENT: environment.name,
      TABLE_NAME: data.table.tableName,
      BUCKET_NAME: data.pictures.bucketName,
      FEATURES: json(features),
      LANES: json(Object.fromEntries(this.lanes.map((lane) => [lane.name, this.describeLane(lane)]))),
      VENDORS: json(this.describeVendors()),
      SIGNING_SECRET_ARN: data.signingSecret.secretArn,
      ISSUERS: json(issuers),
      LIMITS: json(limits),
      RETENTION: json({ jobDays, evidenceDays, auditDays }),
      EVENT_BUS_NAME: this.eventBus.eventBusName,
      SOCKET_URL: this.socketApi.url,
      SOCKET_MANAGEMENT_URL: this.socketApi.managementUrl,
      PUBLIC_URL: this.httpApi.url,
    };
  }

  private describeLane({ name, queue }: Lane) {
    return { queueUrl: queue.queueUrl, ...this.props.environment.lanes[name] };
  }

  private describeVendors() {
    const { data, environment } = this.props;
    return Object.fromEntries(
      Object.entries(environment.vendors).map(([name, settings]) => [
        name,
        { ...settings, secretArn: data.vendorSecrets.get(name)?.secretArn },
      ]),
    );
  }

  private serveLane(lane: Lane): ServedLane {
    const { lambda: worker } = new GatewayFunction(this, `dispatch-job-${lane.name}`, {
      ...this.shared('dispatch-job'),
      name: 'dispatch-job',
      variables: { ...this.variables, LANE: lane.name },
      targets: { ...this.targets(), ownQueue: lane.queue },
      ringsItself: true,
      ...(this.reserves && { reservedConcurrency: lane.workers }),
    });
    lane.serveWith(worker);
    return { lane, worker };
  }

  private createFunctions(): Readonly<Record<SharedFunctionName, IFunction>> {
    const names = Object.keys(functionEnvironments) as FunctionName[];
    return Object.fromEntries(
      names.filter((name) => name !== 'dispatch-job').map((name) => [name, this.createFunction(name)]),
    ) as Record<SharedFunctionName, IFunction>;
  }

  private createFunction(name: SharedFunctionName): IFunction {
    return new GatewayFunction<SharedFunctionName>(this, name, {
      ...this.shared(name),
      name,
      variables: this.variables,
      targets: this.targets(),
      neverRetried: name === 'reconcile-jobs',
    }).lambda;
  }

  private shared(name: FunctionName) {
    return {
      spec: functionSpecs[name],
      code: this.props.code(name),
      logDays: this.props.environment.retention.logDays,
      removalPolicy: RemovalPolicy.DESTROY,
    };
  }

  private targets(): GrantTargets {
    const { data } = this.props;
    return {
      table: data.table,
      pictures: data.pictures,
      signingSecret: data.signingSecret,
      vendorSecrets: [...data.vendorSecrets.values()],
      laneQueues: this.lanes.map(({ queue }) => queue),
      eventBus: this.eventBus,
      postToConnections: this.socketApi.postToConnections,
    };
  }

  private printOutputs(dashboard: GatewayDashboard): void {
    const { data } = this.props;
    const outputs = {
      ApiUrl: this.httpApi.url,
      SocketUrl: this.socketApi.url,
      TableName: data.table.tableName,
      BucketName: data.pictures.bucketName,
      EventBusName: this.eventBus.eventBusName,
      DashboardUrl: dashboard.url,
    };
    for (const [name, value] of Object.entries(outputs)) {
      new CfnOutput(this, name, { value }).overrideLogicalId(name);
    }
  }
}
