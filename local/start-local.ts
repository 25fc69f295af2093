import path from 'node:path';
import { readCloudAssembly, type CloudAssembly } from './assembly/cloud-assembly.ts';
import { studioPlaceholder, synthesize } from './assembly/synthesize.ts';
import { CallLedger } from './runtime/calls.ts';
import { handleControl, isControl } from './runtime/control.ts';
import { Front } from './runtime/front.ts';
import { FunctionOutput } from './runtime/function-output.ts';
import { Functions, LocalFunction, readFunctions, type LocalFunctionSpec } from './runtime/functions.ts';
import { sendJson } from './runtime/http-body.ts';
import { readHttpApi } from './runtime/http-api.ts';
import { apiId, executeApiHost, localIdentities, nameFunctions, resourcesOfType } from './runtime/identity.ts';
import { Permissions, type StatementsByCaller } from './runtime/permissions.ts';
import { platformVariables } from './runtime/platform.ts';
import { readRolePolicies } from './runtime/policies.ts';
import { readQueuePollers } from './runtime/queues.ts';
import { Resolver } from './runtime/resolve.ts';
import { readSchedules } from './runtime/schedules.ts';
import { refuse, type SocketApi } from './runtime/socket-api.ts';
import { serveManagement, SocketConnections } from './runtime/socket-connections.ts';
import { readSocketApi } from './runtime/socket-template.ts';
import { deployStores, startStores, stopStores } from './runtime/stores.ts';
import { seedKeys } from './seed-keys.ts';
import { ensureStudio, type RunningStudio } from './studio-process.ts';
import { giveStudioSecrets } from './studio-secrets.ts';

export interface LocalOptions {
  /** Everything that must survive: tables, pictures, secrets, events, the studio's ledger. */
  readonly dataDir: string;
  readonly host?: string;
  /** 0 for any free port. */
  readonly port?: number;
  readonly studioPort?: number;
  /** What clients reach this machine by; by default `host`, or its address in the local network. */
  readonly publicUrl?: string;
  /** Replaces the interval of every schedule in the template. */
  readonly reconcileEverySeconds?: number;
  /** Shows nothing of what functions write; it is in `<dataDir>/logs` either way. */
  readonly quiet?: boolean;
  /** A cloud assembly to serve in place of the app's own, without studio and keys. */
  readonly assemblyFolder?: string;
}

export interface LocalEnvironment {
  /** The public URL, without a trailing slash. */
  readonly url: string;
  /** `ws://…/<stage>`, or `undefined` where the template has no WebSocket API. */
  readonly socketUrl: string | undefined;
  readonly studioUrl: string | undefined;
  readonly functions: Functions;
  /** Ends the function's environments that are running something, as a crash would. @returns how many. */
  killFunction(name: string): Promise<number>;
  /** Ends everything that this environment started, the studio included. */
  stop(): Promise<void>;
  /** As `stop`, but the studio lives on, as a vendor would. */
  stopGateway(): Promise<void>;
}

/** Serves the synthesized app on this machine. @throws Error in words for a person where it can't. */
export async function startLocal(options: LocalOptions): Promise<LocalEnvironment> {
  const { host = '127.0.0.1', port = 0, studioPort = 0, quiet = false } = options;
  const dataFolder = path.resolve(options.dataDir);
  const front = await Front.listen({ host, port, publicUrl: options.publicUrl });
  const withStudio = options.assemblyFolder === undefined;
  const [assembly, studio] = await Promise.all([
    loadAssembly(options.assemblyFolder),
    withStudio ? ensureStudio({ dataFolder, host, port: studioPort }) : undefined,
  ]);
  const region = assembly.stacks[0]?.region ?? 'us-east-1';

  const calls = new CallLedger();
  let permissions = new Permissions({});
  const grants = () => permissions;
  const stores = await startStores({ dataFolder, region, permissions: grants, calls });
  const connections = new SocketConnections();
  let socketApi: SocketApi | undefined;
  const managed = { connections, permissions: grants, calls, region, apiId: () => socketApi?.apiId ?? '' };
  const management = await serveManagement(managed);

  const functionNames = nameFunctions(assembly);
  const identify = localIdentities({ queueEndpoint: () => stores.queues.url, functionNames });
  const addresses = localAddresses(assembly, front.publicUrl, management.url, studio);
  const resolver = new Resolver(assembly, identify, () => addresses);

  const specs = readFunctions(assembly, resolver);
  const statements = readStatements(assembly, resolver, specs);
  permissions = new Permissions(statements);
  stores.dynamo.setPermissions(statements, region);
  const queueDefinitions = await deployStores(stores, assembly, resolver);
  if (studio !== undefined) {
    await giveStudioSecrets(specs, studio, stores.secrets);
    await seedKeys(specs, stores.dynamo.url, region);
  }

  const output = await FunctionOutput.open(path.join(dataFolder, 'logs'), quiet ? () => undefined : console.error);
  const stage = socketStage(assembly, resolver);
  const endpoints = {
    dynamodb: stores.dynamo.url,
    sqs: stores.queues.url,
    s3: front.publicUrl,
    secretsManager: stores.secrets.url,
    eventBridge: stores.events.url,
    apiGatewayManagement: `${management.url}/${stage ?? ''}`,
  };
  const functions = new Functions(
    specs.map((spec) => {
      const variables = platformVariables(spec, region, stores.issuer.issue(spec.name), endpoints);
      return new LocalFunction(spec, {
        platformVariables: variables,
        onOutput: (chunk) => output.write(spec.name, chunk),
      });
    }),
  );

  const httpApi = readHttpApi(assembly, resolver, functions, () => front.publicUrl);
  socketApi = readSocketApi(assembly, resolver, functions, connections);
  const pollers = readQueuePollers(assembly, resolver, functions, stores.queues, queueDefinitions);
  const schedules = readSchedules(assembly, resolver, functions, options.reconcileEverySeconds);
  stores.events.subscribe((event) => schedules.receive(event));

  const control = {
    calls,
    functions: () => functions,
    dynamo: stores.dynamo,
    queues: stores.queues,
    events: stores.events,
  };
  front.serve({
    request: async (request, response) => {
      const target = request.url ?? '/';
      if (isControl(target)) return await handleControl(request, response, control);
      if (stores.s3.owns(target)) return await stores.s3.handle(request, response);
      if (httpApi !== undefined) return await httpApi.handle(request, response);
      return sendJson(response, 404, { message: 'Not Found' });
    },
    upgrade: async (request, stream, head) => {
      if (socketApi === undefined) return refuse(stream, 404, 'Not Found');
      return await socketApi.upgrade(request, stream, head);
    },
  });
  for (const poller of pollers) poller.start();
  schedules.start();

  const stopGateway = async () => {
    schedules.stop();
    for (const poller of pollers) poller.stop();
    socketApi?.stop();
    await Promise.all([front.stop(), functions.stop(), management.stop()]);
    await stopStores(stores);
    await output.close();
  };
  return {
    url: front.publicUrl,
    socketUrl: stage === undefined ? undefined : `${front.publicUrl.replace(/^http/, 'ws')}/${stage}`,
    studioUrl: studio?.url,
    functions,
    killFunction: async (name) => (await functions.named(name)?.killBusy()) ?? 0,
    stopGateway,
    stop: async () => {
      await stopGateway();
      await studio?.stop();
    },
  };
}

async function loadAssembly(folder: string | undefined): Promise<CloudAssembly> {
  return await readCloudAssembly(folder ?? (await synthesize()).folder);
}

/** Addresses of the deployed app that its template spells out → who answers for them here. */
function localAddresses(
  assembly: CloudAssembly,
  publicUrl: string,
  managementUrl: string,
  studio: RunningStudio | undefined,
): ReadonlyMap<string, string> {
  const addresses = new Map<string, string>();
  for (const api of resourcesOfType(assembly, 'AWS::ApiGatewayV2::Api')) {
    const stack = assembly.stacks.find((one) => one.name === api.stackName);
    const host = executeApiHost(apiId(api), stack?.region ?? '');
    const isSocket = api.properties['ProtocolType'] === 'WEBSOCKET';
    addresses.set(`https://${host}`, isSocket ? managementUrl : publicUrl);
    if (isSocket) addresses.set(`wss://${host}`, publicUrl.replace(/^http/, 'ws'));
  }
  if (studio !== undefined) addresses.set(studioPlaceholder, studio.url);
  return addresses;
}

/** What each function may call: the policies of its role. */
function readStatements(
  assembly: CloudAssembly,
  resolver: Resolver,
  specs: readonly LocalFunctionSpec[],
): StatementsByCaller {
  const policies = readRolePolicies(assembly, resolver);
  return Object.fromEntries(
    specs.map(({ name, roleArn }) => [name, policies.get(roleArn?.split('/').at(-1) ?? '') ?? []]),
  );
}

function socketStage(assembly: CloudAssembly, resolver: Resolver): string | undefined {
  const [api] = resourcesOfType(assembly, 'AWS::ApiGatewayV2::Api').filter(
    (one) => one.properties['ProtocolType'] === 'WEBSOCKET',
  );
  const stage = resourcesOfType(assembly, 'AWS::ApiGatewayV2::Stage').find(
    (one) => api !== undefined && resolver.properties(one)['ApiId'] === resolver.identity(api).ref,
  );
  return stage && resolver.identity(stage).ref;
}
