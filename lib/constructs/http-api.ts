import { CfnOutput, Duration, type RemovalPolicy } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Environment } from '../environments.ts';
import type { SharedFunctionName } from '../functions.ts';
import { httpRoutes } from '../routes.ts';
import { acknowledge } from './acknowledge.ts';

export interface HttpApiProps {
  readonly environment: Environment;
  readonly removalPolicy: RemovalPolicy;
}

/** The HTTP API: made first, since its address is in the functions' environment; the functions are connected last. */
export class HttpApi extends Construct {
  readonly api: apigateway.HttpApi;
  /** Without a slash at its end. */
  readonly url: string;

  constructor(scope: Construct, id: string, { environment, removalPolicy }: HttpApiProps) {
    super(scope, id);
    const { corsOrigins, domain, throttle } = environment;
    this.api = new apigateway.HttpApi(this, 'Api', {
      apiName: `slowlane-${environment.name}`,
      description: `Slowlane (${environment.name})`,
      createDefaultStage: false,
      disableExecuteApiEndpoint: domain !== undefined,
      corsPreflight: {
        allowOrigins: corsOrigins,
        allowMethods: [
          apigateway.CorsHttpMethod.GET,
          apigateway.CorsHttpMethod.POST,
          apigateway.CorsHttpMethod.PATCH,
          apigateway.CorsHttpMethod.DELETE,
        ],
        allowHeaders: ['authorization', 'content-type', 'idempotency-key', 'slowlane-user', 'x-api-key'],
        exposeHeaders: ['location', 'idempotent-replayed', 'retry-after', 'request-id'],
        maxAge: Duration.hours(1),
      },
    });
    this.url = domain === undefined ? this.api.apiEndpoint : `https://${domain.api}`;

    const domainName = domain === undefined ? undefined : this.nameApi(domain);
    new apigateway.HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: throttle.perSecond, burstLimit: throttle.burst },
      detailedMetricsEnabled: true,
      accessLogSettings: this.logAccess(environment, removalPolicy),
      ...(domainName !== undefined && { domainMapping: { domainName } }),
    });
  }

  /** Connects every route with the function that answers it. */
  serve(functions: Readonly<Record<SharedFunctionName, IFunction>>): void {
    const integrations = new Map<SharedFunctionName, HttpLambdaIntegration>();
    for (const { method, path, function: name } of httpRoutes) {
      const integration = integrations.get(name) ?? new HttpLambdaIntegration(`Answer-${name}`, functions[name]);
      integrations.set(name, integration);
      const routes = this.api.addRoutes({ path, methods: [apigateway.HttpMethod[method]], integration });
      for (const route of routes) {
        acknowledge(
          route,
          'AwsSolutions-APIG4',
          'The function authenticates: an authorizer of an HTTP API can neither take a key or a token with a cache, ' +
            'nor answer with a problem document. The health check, the description and signed vendor events are open.',
        );
      }
    }
  }

  private nameApi({ api, certificateArn }: NonNullable<Environment['domain']>): apigateway.DomainName {
    const domainName = new apigateway.DomainName(this, 'Domain', {
      domainName: api,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
    });
    new CfnOutput(this, 'DomainTarget', {
      description: `Point ${api} here (CNAME or alias)`,
      value: domainName.regionalDomainName,
    });
    return domainName;
  }

  private logAccess({ retention }: Environment, removalPolicy: RemovalPolicy): apigateway.IAccessLogSettings {
    const logGroup = new logs.LogGroup(this, 'AccessLogs', { retention: retention.logDays, removalPolicy });
    return {
      destination: new apigateway.LogGroupLogDestination(logGroup),
      // The route, never the path: a path of vendor events holds a token, and one of users a name.
      format: AccessLogFormat.custom(
        JSON.stringify({
          requestId: '$context.requestId',
          at: '$context.requestTime',
          route: '$context.routeKey',
          status: '$context.status',
          latencyMs: '$context.responseLatency',
          functionMs: '$context.integrationLatency',
          functionError: '$context.integrationErrorMessage',
          responseBytes: '$context.responseLength',
          ip: '$context.identity.sourceIp',
        }),
      ),
    };
  }
}
