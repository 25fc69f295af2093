import path from 'node:path';
import type { CloudAssembly } from '../assembly/cloud-assembly.ts';
import { CallLedger } from './calls.ts';
import { handleControl, isControl } from './control.ts';
import type { Front } from './front.ts';
import { FunctionOutput } from './function-output.ts';
import { Functions, LocalFunction, readFunctions, type LocalFunctionSpec } from './functions.ts';
import { readHttpApi } from './http-api.ts';
import { sendJson } from './http-body.ts';
import { apiId, executeApiHost, localIdentities, nameFunctions, resourcesOfType } from './identity.ts';
import { InvokePermissions } from './invoke-permissions.ts';
import { Permissions, type StatementsByCaller } from './permissions.ts';
import { platformVariables, type Endpoints } from './platform.ts';
import { readRolePolicies } from './policies.ts';
import { readQueuePollers } from './queues.ts';
import { Resolver } from './resolve.ts';
import { repeat } from './repeat.ts';
import { readSchedules } from './schedules.ts';
import { refuse } from './socket-api.ts';
import { serveManagement, SocketConnections } from './socket-connections.ts';
import { readSocketApi, socketIdentity } from './socket-template.ts';
import { deployStores, startStores, stopStores, type Stores } from './stores.ts';
import { Teardown } from './teardown.ts';

export interface GatewayOptions {
  readonly assembly: CloudAssembly;
  readonly dataFolder: string;
  readonly front: Front;
  /** More text of the template that stands for an address → who answers for it here. */
  readonly addresses: ReadonlyMap<string, string>;
  /** Replaces the interval of every schedule in the template. */
  readonly scheduleEverySeconds: number | undefined;
  readonly showOutput: (line: string) => void;
  /** As if a function were deployed with other settings than the template's. */
  readonly deployAs?: ((spec: LocalFunctionSpec) => LocalFunctionSpec) | undefined;
  /** Runs once the stores are there and before anything is served: secrets and keys that a person would provide. */
  readonly provide: (deployed: Deployed) => Promise<void>;
}

export interface Deployed {
  readonly specs: readonly LocalFunctionSpec[];
  readonly stores: Stores;
  readonly region: string;
}

export interface Gateway {
  readonly functions: Functions;
  /** `ws://…/<stage>`, where the template has a WebSocket API. */
  readonly socketUrl: string | undefined;
  readonly endpoints: Endpoints;
  stop(): Promise<void>;
}

const expireEveryMs = 30_000;

/** Serves everything that a cloud assembly declares. @throws where it declares what can't be served here. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const teardown = new Teardown();
  try {
    return await serve(options, teardown);
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

async function serve(options: GatewayOptions, teardown: Teardown): Promise<Gateway> {
  const { assembly, dataFolder, front } = options;
  const region = assembly.stacks[0]?.region ?? 'us-east-1';
  const calls = new CallLedger();
  let permissions = new Permissions({});
  const stores = await startStores({ dataFolder, region, permissions: () => permissions, calls });
  teardown.add(() => stopStores(stores));
  const connections = new SocketConnections();
  const socket = socketIdentity(assembly);
  const management = await serveManagement({ connections, permissions: () => permissions, calls, region, socket });
  teardown.add(() => management.stop());

  const addresses = new Map([...apiAddresses(assembly, front.publicUrl, management.url), ...options.addresses]);
  const resolver = new Resolver(
    assembly,
    localIdentities({ queueEndpoint: () => stores.queues.url, functionNames: nameFunctions(assembly) }),
    () => addresses,
  );
  const specs = readFunctions(assembly, resolver).map(options.deployAs ?? ((spec) => spec));
  const statements = statementsByFunction(readRolePolicies(assembly, resolver), specs);
  permissions = new Permissions(statements);
  stores.dynamo.setPermissions(statements, region);
  const queueDefinitions = await deployStores(stores, assembly, resolver);
  await options.provide({ specs, stores, region });

  const output = await FunctionOutput.open(path.join(dataFolder, 'logs'), options.showOutput);
  teardown.add(() => output.close());
  const endpoints = {
    dynamodb: stores.dynamo.url,
    sqs: stores.queues.url,
    s3: front.publicUrl,
    secretsManager: stores.secrets.url,
    eventBridge: stores.events.url,
    apiGatewayManagement: `${management.url}/${socket?.stage ?? ''}`,
  };
  const functions = new Functions(
    specs.map((spec) => {
      const variables = platformVariables(spec, region, stores.issuer.issue(spec.name), endpoints);
      const onOutput = (chunk: Buffer) => output.write(spec.name, chunk);
      return new LocalFunction(spec, { platformVariables: variables, onOutput });
    }),
  );
  teardown.add(() => functions.stop());

  const invokers = new InvokePermissions(assembly, resolver);
  const httpApi = readHttpApi(assembly, resolver, functions, invokers, () => front.publicUrl);
  const socketApi = readSocketApi(assembly, resolver, functions, invokers, connections);
  const pollers = readQueuePollers(assembly, resolver, functions, stores.queues, queueDefinitions, permissions);
  const schedules = readSchedules(assembly, resolver, functions, invokers, options.scheduleEverySeconds);
  stores.events.subscribe((event) => schedules.receive(event));

  const control = { calls, functions, dynamo: stores.dynamo, queues: stores.queues, events: stores.events };
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
  teardown.add(async () => {
    schedules.stop();
    for (const poller of pollers) poller.stop();
    const stopped = front.stop();
    // The front is not closed before its upgraded connections are, and nobody else ends those.
    socketApi?.stop();
    await stopped;
  });
  const expiry = repeat(expireEveryMs, async () => {
    await stores.dynamo.expire(Date.now());
    await stores.s3.expire(Date.now());
  });
  teardown.add(expiry.stop);
  for (const poller of pollers) poller.start();
  schedules.start();
  const socketUrl = socket && `${front.publicUrl.replace(/^http/, 'ws')}/${socket.stage}`;
  return { functions, socketUrl, endpoints, stop: () => teardown.run() };
}

/** Addresses of the deployed APIs, as templates spell them out → who answers for them here. */
function apiAddresses(assembly: CloudAssembly, publicUrl: string, managementUrl: string): Map<string, string> {
  const addresses = new Map<string, string>();
  for (const api of resourcesOfType(assembly, 'AWS::ApiGatewayV2::Api')) {
    const stack = assembly.stacks.find((one) => one.name === api.stackName);
    const host = executeApiHost(apiId(api), stack?.region ?? '');
    const isSocket = api.properties['ProtocolType'] === 'WEBSOCKET';
    addresses.set(`https://${host}`, isSocket ? managementUrl : publicUrl);
    if (isSocket) addresses.set(`wss://${host}`, publicUrl.replace(/^http/, 'ws'));
  }
  return addresses;
}

/** What each function may call: the policies of its role. */
function statementsByFunction(
  policies: ReturnType<typeof readRolePolicies>,
  specs: readonly LocalFunctionSpec[],
): StatementsByCaller {
  return Object.fromEntries(
    specs.map(({ name, roleArn }) => [name, policies.get(roleArn?.split('/').at(-1) ?? '') ?? []]),
  );
}
