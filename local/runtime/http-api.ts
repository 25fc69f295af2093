import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as z from 'zod';
import type { CloudAssembly, Resource } from '../assembly/cloud-assembly.ts';
import { corsSchema, isPreflight, preflightHeaders, withCors, type Cors } from './cors.ts';
import type { Functions, InvocationOutcome, LocalFunction } from './functions.ts';
import { buildHttpEvent, readHttpResult, splitTarget, type HttpAnswer, type HttpRequest } from './http-event.ts';
import { RouteTable } from './http-routes.ts';
import { resourcesOfType } from './identity.ts';
import { readBody } from './http-body.ts';
import type { InvokePermissions } from './invoke-permissions.ts';
import { accountId, type Resolver } from './resolve.ts';

/** Payload limit of an HTTP API. */
const payloadLimitBytes = 10 * 1024 * 1024;
/** Request line and header values together. */
const headerLimitBytes = 10_240;
const longestIntegrationMs = 30_000;

interface Integration {
  readonly function: LocalFunction;
  readonly timeoutMs: number;
}

export interface HttpApiOptions {
  readonly apiId: string;
  readonly stage: string;
  readonly cors: Cors | undefined;
  readonly routes: RouteTable<Integration>;
  readonly publicUrl: () => string;
}

const apiSchema = z.object({ ProtocolType: z.string(), CorsConfiguration: corsSchema.optional() });
const routeSchema = z.object({
  ApiId: z.string(),
  RouteKey: z.string(),
  Target: z.string(),
  AuthorizationType: z
    .literal('NONE', 'The local runtime serves HTTP routes without API Gateway authorizers only.')
    .default('NONE'),
});
const integrationSchema = z.object({
  IntegrationType: z.literal('AWS_PROXY'),
  IntegrationUri: z.string(),
  PayloadFormatVersion: z.literal('2.0', 'HTTP integrations must use payload format 2.0.'),
  TimeoutInMillis: z.coerce.number().max(longestIntegrationMs).default(longestIntegrationMs),
});

/** Reads the template's HTTP API: its routes, integrations, stage and CORS. */
export function readHttpApi(
  assembly: CloudAssembly,
  resolver: Resolver,
  functions: Functions,
  permissions: InvokePermissions,
  publicUrl: () => string,
): HttpApi | undefined {
  const apis = resourcesOfType(assembly, 'AWS::ApiGatewayV2::Api').filter(
    (api) => api.properties['ProtocolType'] === 'HTTP',
  );
  const [api, second] = apis;
  if (api === undefined) return undefined;
  if (second !== undefined) throw new Error('The local runtime serves one HTTP API.');
  const apiId = resolver.identity(api).ref;
  const stage = stageOf(assembly, resolver, apiId);
  const apiArn = executeApiArn(assembly, api, apiId);
  const integrations = integrationsByRef(assembly, resolver);
  const routes = resourcesOfType(assembly, 'AWS::ApiGatewayV2::Route')
    .filter((route) => belongsTo(route, apiId, resolver))
    .map((route): [string, Integration] => {
      const { RouteKey, Target } = routeSchema.parse(resolver.properties(route));
      const integration = integrations.get(Target.replace(/^integrations\//, ''));
      if (integration === undefined) throw new Error(`Route ${RouteKey} has no integration.`);
      const { IntegrationUri, TimeoutInMillis } = integrationSchema.parse(resolver.properties(integration));
      const target = functions.byReference(IntegrationUri);
      permissions.require(target, 'apigateway.amazonaws.com', `${apiArn}/${stage}/${RouteKey.replace(' ', '')}`);
      return [RouteKey, { function: target, timeoutMs: TimeoutInMillis }];
    });
  return new HttpApi({
    apiId,
    stage,
    cors: apiSchema.parse(resolver.properties(api)).CorsConfiguration,
    routes: new RouteTable(routes),
    publicUrl,
  });
}

export function integrationsByRef(assembly: CloudAssembly, resolver: Resolver): Map<string, Resource> {
  const integrations = resourcesOfType(assembly, 'AWS::ApiGatewayV2::Integration');
  return new Map(integrations.map((integration) => [resolver.identity(integration).ref, integration]));
}

/** What an API's stages and routes are named by where it invokes something. */
export function executeApiArn(assembly: CloudAssembly, api: Resource, apiId: string): string {
  const region = assembly.stacks.find((stack) => stack.name === api.stackName)?.region ?? '';
  return `arn:aws:execute-api:${region}:${accountId}:${apiId}`;
}

export function belongsTo(resource: Resource, apiId: string, resolver: Resolver): boolean {
  return resolver.properties(resource)['ApiId'] === apiId;
}

export function stageOf(assembly: CloudAssembly, resolver: Resolver, apiId: string): string {
  const stage = resourcesOfType(assembly, 'AWS::ApiGatewayV2::Stage').find((one) => belongsTo(one, apiId, resolver));
  if (stage === undefined) throw new Error(`API ${apiId} has no stage: nothing would answer.`);
  return resolver.identity(stage).ref;
}

/** Serves an HTTP API with Lambda proxy integrations, with API Gateway's own limits and bare error answers. */
export class HttpApi {
  readonly #options: HttpApiOptions;

  constructor(options: HttpApiOptions) {
    this.#options = options;
  }

  get routeKeys(): string[] {
    return this.#options.routes.keys();
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = randomUUID();
    const answer = await this.#answer(request, requestId);
    const { cors } = this.#options;
    const isCorsAnswer = isPreflight(request.method ?? '', request.headers) && cors !== undefined;
    const headers =
      cors === undefined || isCorsAnswer ? answer.headers : withCors(cors, request.headers.origin, answer.headers);
    response.writeHead(answer.status, {
      ...headers,
      'apigw-requestid': requestId,
      'content-length': answer.body.length,
      ...(answer.cookies.length > 0 ? { 'set-cookie': [...answer.cookies] } : {}),
    });
    response.end(request.method === 'HEAD' ? undefined : answer.body);
  }

  async #answer(request: IncomingMessage, requestId: string): Promise<HttpAnswer> {
    const { cors, routes, stage } = this.#options;
    const method = request.method ?? 'GET';
    if (headerBytes(request) > headerLimitBytes) return bare(431, 'Request Header Fields Too Large');
    const target = request.url ?? '/';
    const path = withoutStage(splitTarget(target).path, stage);
    if (path === undefined) return bare(404, 'Not Found');
    const route = routes.find(method, path);
    const hasOwnPreflight = route?.routeKey.startsWith('OPTIONS ') === true;
    if (cors !== undefined && isPreflight(method, request.headers) && !hasOwnPreflight) {
      return {
        status: 204,
        headers: preflightHeaders(cors, request.headers.origin),
        cookies: [],
        body: Buffer.alloc(0),
      };
    }
    if (route === undefined) return bare(404, 'Not Found');
    const body = await readBody(request, payloadLimitBytes);
    if (body === undefined) return bare(413, 'Request Entity Too Large');
    const event = buildHttpEvent(readRequest(request, body), route, {
      apiId: this.#options.apiId,
      accountId,
      stage,
      requestId,
      nowMs: Date.now(),
      forwardedProtocol: new URL(this.#options.publicUrl()).protocol.replace(':', ''),
    });
    return await integrate(route.target, event);
  }
}

async function integrate({ function: target, timeoutMs }: Integration, event: unknown): Promise<HttpAnswer> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<'too-late'>((resolve) => {
    timer = setTimeout(() => resolve('too-late'), timeoutMs);
  });
  try {
    // The function isn't stopped when the caller has given up: it runs on to its own end or timeout, as on AWS.
    const outcome = await Promise.race([target.invoke(event), tooLate]);
    return outcome === 'too-late' ? bare(503, 'Service Unavailable') : answerOf(outcome);
  } finally {
    clearTimeout(timer);
  }
}

function answerOf(outcome: InvocationOutcome): HttpAnswer {
  switch (outcome.kind) {
    case 'answered':
      return readHttpResult(outcome.payload) ?? bare(500, 'Internal Server Error');
    case 'failed':
      return bare(500, 'Internal Server Error');
    case 'throttled':
      return bare(429, 'Too Many Requests');
    case 'too-large':
      return outcome.part === 'request' ? bare(413, 'Request Entity Too Large') : bare(500, 'Internal Server Error');
  }
}

function bare(status: number, message: string): HttpAnswer {
  const body = Buffer.from(JSON.stringify({ message }));
  return { status, headers: { 'content-type': 'application/json' }, cookies: [], body };
}

/** A stage with a name is the first segment of every path; `$default` is not. */
function withoutStage(path: string, stage: string): string | undefined {
  if (stage === '$default') return path;
  return path === `/${stage}` || path.startsWith(`/${stage}/`) ? path.slice(stage.length + 1) || '/' : undefined;
}

function headerBytes(request: IncomingMessage): number {
  const requestLine = `${request.method} ${request.url} HTTP/${request.httpVersion}`;
  return Buffer.byteLength(requestLine) + request.rawHeaders.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
}

function readRequest(request: IncomingMessage, body: Buffer): HttpRequest {
  return {
    method: request.method ?? 'GET',
    target: request.url ?? '/',
    headers: request.headers,
    body,
    sourceIp: (request.socket.remoteAddress ?? '127.0.0.1').replace(/^::ffff:/, ''),
    protocol: `HTTP/${request.httpVersion}`,
  };
}
