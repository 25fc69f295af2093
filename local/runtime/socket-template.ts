import * as z from 'zod';
import type { CloudAssembly } from '../assembly/cloud-assembly.ts';
import type { Functions } from './functions.ts';
import { belongsTo, executeApiArn, integrationsByRef, stageOf } from './http-api.ts';
import { apiId as apiIdOf, resourcesOfType } from './identity.ts';
import type { InvokePermissions } from './invoke-permissions.ts';
import type { Resolver } from './resolve.ts';
import { SocketApi, type SocketRoute } from './socket-api.ts';
import type { SocketAuthorizer } from './socket-authorizer.ts';
import type { SocketConnections } from './socket-connections.ts';

const apiSchema = z.object({
  RouteSelectionExpression: z.string().regex(/^\$request\.body\.\w+$/, 'Routes are selected by a member of the body.'),
});
const routeSchema = z.object({
  RouteKey: z.string(),
  Target: z.string(),
  AuthorizationType: z.enum(['NONE', 'CUSTOM']).default('NONE'),
  AuthorizerId: z.string().optional(),
});
const integrationSchema = z.object({ IntegrationType: z.literal('AWS_PROXY'), IntegrationUri: z.string() });
const authorizerSchema = z.object({
  AuthorizerType: z.literal('REQUEST'),
  AuthorizerUri: z.string(),
  IdentitySource: z.array(z.string()).default([]),
});

/** The WebSocket API's id and stage, which are known before anything is resolved. */
export function socketIdentity(assembly: CloudAssembly): { apiId: string; stage: string } | undefined {
  const [api] = socketApis(assembly);
  const stage = resourcesOfType(assembly, 'AWS::ApiGatewayV2::Stage').find((one) => {
    const owner = one.properties['ApiId'] as { Ref?: string } | undefined;
    return api !== undefined && one.stackName === api.stackName && owner?.Ref === api.logicalId;
  });
  const name = stage?.properties['StageName'];
  return api === undefined || typeof name !== 'string' ? undefined : { apiId: apiIdOf(api), stage: name };
}

const socketApis = (assembly: CloudAssembly) =>
  resourcesOfType(assembly, 'AWS::ApiGatewayV2::Api').filter((one) => one.properties['ProtocolType'] === 'WEBSOCKET');

/** Reads the template's WebSocket API: routes, integrations, stage and the authorizer of $connect. */
export function readSocketApi(
  assembly: CloudAssembly,
  resolver: Resolver,
  functions: Functions,
  permissions: InvokePermissions,
  connections: SocketConnections,
): SocketApi | undefined {
  const [api, second] = socketApis(assembly);
  if (api === undefined) return undefined;
  if (second !== undefined) throw new Error('The local runtime serves one WebSocket API.');
  const apiId = resolver.identity(api).ref;
  const stage = stageOf(assembly, resolver, apiId);
  const apiArn = executeApiArn(assembly, api, apiId);
  const integrations = integrationsByRef(assembly, resolver);
  const answering = new Set(
    resourcesOfType(assembly, 'AWS::ApiGatewayV2::RouteResponse').map((one) => resolver.properties(one)['RouteId']),
  );
  const routes = new Map<string, SocketRoute>();
  let authorizer: SocketAuthorizer | undefined;
  for (const route of resourcesOfType(assembly, 'AWS::ApiGatewayV2::Route')) {
    if (!belongsTo(route, apiId, resolver)) continue;
    const { RouteKey, Target, AuthorizationType, AuthorizerId } = routeSchema.parse(resolver.properties(route));
    const integration = integrations.get(Target.replace(/^integrations\//, ''));
    if (integration === undefined) throw new Error(`Route ${RouteKey} has no integration.`);
    const { IntegrationUri } = integrationSchema.parse(resolver.properties(integration));
    const answers = answering.has(resolver.identity(route).ref);
    const target = functions.byReference(IntegrationUri);
    permissions.require(target, 'apigateway.amazonaws.com', `${apiArn}/${stage}/${RouteKey}`);
    routes.set(RouteKey, { function: target, answers });
    if (AuthorizationType !== 'CUSTOM') continue;
    authorizer = readAuthorizer(assembly, resolver, functions, AuthorizerId);
    permissions.require(authorizer.function, 'apigateway.amazonaws.com', `${apiArn}/authorizers/${AuthorizerId}`);
  }
  const { RouteSelectionExpression } = apiSchema.parse(resolver.properties(api));
  return new SocketApi({
    apiId,
    stage,
    region: assembly.stacks.find((stack) => stack.name === api.stackName)?.region ?? '',
    routes,
    selector: RouteSelectionExpression.split('.').at(-1) ?? '',
    authorizer,
    connections,
  });
}

function readAuthorizer(
  assembly: CloudAssembly,
  resolver: Resolver,
  functions: Functions,
  id: string | undefined,
): SocketAuthorizer {
  const found = resourcesOfType(assembly, 'AWS::ApiGatewayV2::Authorizer').find(
    (one) => resolver.identity(one).ref === id,
  );
  if (found === undefined) throw new Error('$connect names an authorizer that the template lacks.');
  const { AuthorizerUri, IdentitySource } = authorizerSchema.parse(resolver.properties(found));
  return { function: functions.byReference(AuthorizerUri), identitySources: IdentitySource };
}
