import { ArnFormat, CfnOutput, type RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import { WebSocketLambdaAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { WebSocketLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Environment } from '../environments.ts';
import type { SharedFunctionName } from '../functions.ts';
import { socketAuthorizer, socketRoutes } from '../routes.ts';
import { acknowledge } from './acknowledge.ts';

const stageName = 'v1';

export interface SocketApiProps {
  readonly environment: Environment;
  readonly removalPolicy: RemovalPolicy;
}

/** The socket API: made first, since its addresses are in the functions' environment; functions are connected last. */
export class SocketApi extends Construct {
  readonly api: apigateway.WebSocketApi;
  /** Where clients connect: `wss://…`. */
  readonly url: string;
  /** Where functions post to connections: `https://…/v1`, whatever name clients know the API by. */
  readonly managementUrl: string;
  /** ARN of "post to any connection". */
  readonly postToConnections: string;

  constructor(scope: Construct, id: string, { environment, removalPolicy }: SocketApiProps) {
    super(scope, id);
    const { domain, socketAccessLogs, throttle } = environment;
    this.api = new apigateway.WebSocketApi(this, 'Api', {
      apiName: `slowlane-${environment.name}-live`,
      description: `Slowlane live progress (${environment.name})`,
      routeSelectionExpression: '$request.body.action',
    });
    const domainName = domain === undefined ? undefined : this.nameApi(domain);
    const stage = new apigateway.WebSocketStage(this, 'Stage', {
      webSocketApi: this.api,
      stageName,
      autoDeploy: true,
      throttle: { rateLimit: throttle.perSecond, burstLimit: throttle.burst },
      detailedMetricsEnabled: true,
      ...(domainName !== undefined && { domainMapping: { domainName } }),
      ...(socketAccessLogs && { accessLogSettings: this.logAccess(environment, removalPolicy) }),
    });
    if (!socketAccessLogs) {
      acknowledge(
        stage,
        'AwsSolutions-APIG1',
        'Access logs of a socket API need a role that is one for the whole account, which no stack may own: opt in ' +
          'with socketAccessLogs once the account has it.',
      );
    }
    this.url = domain === undefined ? stage.url : `wss://${domain.socket}`;
    this.managementUrl = stage.callbackUrl;
    this.postToConnections = Stack.of(this).formatArn({
      service: 'execute-api',
      resource: this.api.apiId,
      resourceName: `${stageName}/POST/@connections/*`,
      arnFormat: ArnFormat.SLASH_RESOURCE_NAME,
    });
  }

  /** Connects every route with its function. Only `$connect` is authorized: a connection is one caller from then on. */
  serve(functions: Readonly<Record<SharedFunctionName, IFunction>>): void {
    const authorizer = new WebSocketLambdaAuthorizer('Ticket', functions[socketAuthorizer], {
      identitySource: ['route.request.querystring.ticket'],
    });
    for (const { key, function: name } of socketRoutes) {
      const isConnect = key === '$connect';
      const route = this.api.addRoute(key, {
        integration: new WebSocketLambdaIntegration(`Handle-${key.replace('$', '')}`, functions[name]),
        ...(isConnect && { authorizer }),
      });
      if (!isConnect) {
        acknowledge(
          route,
          'AwsSolutions-APIG4',
          'API Gateway authorizes a socket at $connect only; each message is checked against who connected.',
        );
      }
    }
  }

  private nameApi({ socket, certificateArn }: NonNullable<Environment['domain']>): apigateway.DomainName {
    const domainName = new apigateway.DomainName(this, 'Domain', {
      domainName: socket,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
    });
    new CfnOutput(this, 'DomainTarget', {
      description: `Point ${socket} here (CNAME or alias)`,
      value: domainName.regionalDomainName,
    });
    return domainName;
  }

  private logAccess({ retention }: Environment, removalPolicy: RemovalPolicy): apigateway.IAccessLogSettings {
    const logGroup = new logs.LogGroup(this, 'AccessLogs', { retention: retention.logDays, removalPolicy });
    return {
      destination: new apigateway.LogGroupLogDestination(logGroup),
      // Never the query string: it holds the ticket.
      format: AccessLogFormat.custom(
        JSON.stringify({
          requestId: '$context.requestId',
          at: '$context.requestTime',
          route: '$context.routeKey',
          event: '$context.eventType',
          connectionId: '$context.connectionId',
          status: '$context.status',
          authorizerError: '$context.authorizer.error',
          ip: '$context.identity.sourceIp',
        }),
      ),
    };
  }
}
