import { describe, expect, test } from 'vitest';
import { functionEnvironments, type FunctionName } from '../../lambdas/runtime/env.ts';
import { environmentWith, idPart, onlyResource, resourcesOf, synthesize, templatesOf } from './synthesized.ts';

const { gateway } = templatesOf('prod');
const lambdaFunction = 'AWS::Lambda::Function';
const names = Object.keys(functionEnvironments) as FunctionName[];

function functionOf(name: FunctionName) {
  return onlyResource(gateway, lambdaFunction, idPart(name === 'dispatch-job' ? 'dispatch-job-default' : name))
    .Properties;
}

/** The name of the function whose integration a route targets. */
function functionBehind(target: unknown): string {
  const integrationId = /"Ref":"(\w+)"/.exec(JSON.stringify(target))?.[1] ?? '';
  const uri = JSON.stringify(resourcesOf(gateway, 'AWS::ApiGatewayV2::Integration')[integrationId]);
  return names.find((name) => uri.includes(`"${idPart(name)}Function`)) ?? `none behind ${integrationId}`;
}

describe('routes', () => {
  const routes = Object.fromEntries(
    Object.values(resourcesOf(gateway, 'AWS::ApiGatewayV2::Route')).map(({ Properties }) => [
      String(Properties['RouteKey']),
      functionBehind(Properties['Target']),
    ]),
  );

  test('each leads to its function', () => {
    expect(routes).toEqual({
      'POST /api/v1/jobs': 'submit-job',
      'GET /api/v1/jobs': 'list-jobs',
      'GET /api/v1/jobs/by-key': 'read-job',
      'GET /api/v1/jobs/{id}': 'read-job',
      'GET /api/v1/jobs/{id}/result': 'read-job',
      'POST /api/v1/jobs/{id}/cancel': 'cancel-job',
      'DELETE /api/v1/jobs/{id}': 'erase-jobs',
      'DELETE /api/v1/users': 'erase-jobs',
      'POST /api/v1/uploads': 'create-upload',
      'POST /api/v1/client-tokens': 'create-client-token',
      'POST /api/v1/socket-tickets': 'create-socket-ticket',
      'GET /api/v1/features': 'describe-api',
      'GET /api/v1/openapi.json': 'describe-api',
      'GET /api/v1/health': 'describe-api',
      'POST /api/v1/vendor-events/{vendor}/{jobId}/{generation}/{token}': 'receive-vendor-event',
      'GET /api/v1/operator/flagged': 'operate-jobs',
      'POST /api/v1/operator/flagged/settle': 'operate-jobs',
      'GET /api/v1/operator/jobs/{id}': 'operate-jobs',
      'POST /api/v1/operator/jobs/{id}/adopt': 'operate-jobs',
      'POST /api/v1/operator/jobs/{id}/retake': 'operate-jobs',
      'POST /api/v1/operator/jobs/{id}/resend': 'operate-jobs',
      'POST /api/v1/operator/jobs/{id}/fail': 'operate-jobs',
      'GET /api/v1/operator/lanes': 'operate-lanes',
      'PATCH /api/v1/operator/lanes/{lane}': 'operate-lanes',
      $connect: 'connect-socket',
      $disconnect: 'disconnect-socket',
      follow: 'follow-job',
      unfollow: 'follow-job',
      ping: 'follow-job',
      $default: 'follow-job',
    });
  });

  test('a socket opens only for a ticket', () => {
    expect(onlyResource(gateway, 'AWS::ApiGatewayV2::Authorizer').Properties).toMatchObject({
      AuthorizerType: 'REQUEST',
      IdentitySource: ['route.request.querystring.ticket'],
    });
    const authorized = Object.values(resourcesOf(gateway, 'AWS::ApiGatewayV2::Route')).filter(
      ({ Properties }) => Properties['AuthorizationType'] === 'CUSTOM',
    );
    expect(authorized.map(({ Properties }) => Properties['RouteKey'])).toEqual(['$connect']);
  });
});

describe('functions', () => {
  test.each(names)('%s gets the variables that it reads, and no other', (name) => {
    const { Variables } = functionOf(name)['Environment'] as { Variables: Record<string, unknown> };
    expect(Object.keys(Variables).toSorted()).toEqual(Object.keys(functionEnvironments[name].shape).toSorted());
  });

  test.each(names)('%s runs on Node 24 on arm64 and logs to a group of its own', (name) => {
    expect(functionOf(name)).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      LoggingConfig: { LogGroup: { Ref: expect.stringContaining(idPart(name)) } },
    });
  });

  test.each(names.filter((name) => name !== 'dispatch-job' && name !== 'reconcile-jobs'))(
    '%s ends before API Gateway gives up on it',
    (name) => {
      expect(functionOf(name)['Timeout']).toBeLessThan(30);
    },
  );

  test('every log ends: none is kept for ever', () => {
    for (const { Properties } of Object.values(resourcesOf(gateway, 'AWS::Logs::LogGroup'))) {
      expect(Properties['RetentionInDays']).toBe(90);
    }
  });

  test('too many features for 4 KB of variables is said at synth', () => {
    const feature = { vendor: 'images', lane: 'default', maxQueueSeconds: 3600, maxRunSeconds: 600 };
    const features = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`feature-${index}`, feature]));
    expect(() => synthesize(environmentWith({ features }))).toThrow(/submit-job: its variables take about \d+ bytes/);
  });
});

describe('the reconciler', () => {
  test('runs each minute, ends before the next, and is tried again by nobody', () => {
    expect(onlyResource(gateway, 'AWS::Events::Rule').Properties).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Targets: [{ RetryPolicy: { MaximumRetryAttempts: 0 } }],
    });
    expect(functionOf('reconcile-jobs')['Timeout']).toBe(55);
    expect(onlyResource(gateway, 'AWS::Lambda::EventInvokeConfig').Properties['MaximumRetryAttempts']).toBe(0);
  });
});

describe('the APIs', () => {
  test.each(['$default', 'v1'])('stage %s is throttled and deploys its routes', (StageName) => {
    const stages = Object.values(resourcesOf(gateway, 'AWS::ApiGatewayV2::Stage'));
    expect(stages.find(({ Properties }) => Properties['StageName'] === StageName)?.Properties).toMatchObject({
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 1000, ThrottlingBurstLimit: 2000 },
    });
  });

  test('pages may send our headers and read our answers', () => {
    expect(onlyResource(gateway, 'AWS::ApiGatewayV2::Api', 'HttpApi').Properties['CorsConfiguration']).toMatchObject({
      AllowOrigins: ['https://app.example.com'],
      AllowHeaders: expect.arrayContaining(['idempotency-key', 'authorization', 'slowlane-user', 'x-api-key']),
      ExposeHeaders: ['location', 'idempotent-replayed', 'retry-after', 'request-id'],
    });
  });

  test('access logs hold no path and no query: those carry tokens', () => {
    const format = JSON.stringify(resourcesOf(gateway, 'AWS::ApiGatewayV2::Stage'));
    expect(format).toContain('$context.routeKey');
    expect(format).not.toMatch(/\$context\.(path|httpMethod|queryString)/);
  });

  test('the socket API logs only where the account has a role for it', () => {
    const logging = (template: typeof gateway) =>
      Object.values(resourcesOf(template, 'AWS::ApiGatewayV2::Stage')).filter(
        ({ Properties }) => Properties['AccessLogSettings'] !== undefined,
      );
    expect(logging(gateway)).toHaveLength(1);
    expect(logging(synthesize(environmentWith({ socketAccessLogs: true })).gateway)).toHaveLength(2);
  });

  test('go by the names of the environment where it has some; functions still post to the API itself', () => {
    const domain = {
      api: 'api.example.com',
      socket: 'live.example.com',
      certificateArn: 'arn:aws:acm:::certificate/1',
    };
    const named = synthesize(environmentWith({ domain })).gateway;
    expect(named.findOutputs('*')).toMatchObject({
      ApiUrl: { Value: 'https://api.example.com' },
      SocketUrl: { Value: 'wss://live.example.com' },
    });
    const { Variables } = onlyResource(named, lambdaFunction, idPart('reconcile-jobs')).Properties['Environment'] as {
      Variables: Record<string, unknown>;
    };
    expect(Variables['PUBLIC_URL']).toBe('https://api.example.com');
    expect(JSON.stringify(Variables['SOCKET_MANAGEMENT_URL'])).toContain('.execute-api.');
  });
});

test('the stack says where everything is', () => {
  expect(Object.keys(gateway.findOutputs('*')).toSorted()).toEqual(
    ['ApiUrl', 'BucketName', 'DashboardUrl', 'EventBusName', 'SocketUrl', 'TableName'].toSorted(),
  );
});
