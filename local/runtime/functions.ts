import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import * as z from 'zod';
import type { CloudAssembly, Resource } from '../assembly/cloud-assembly.ts';
import { ExecutionEnvironment, type EnvironmentOutcome } from './execution-environment.ts';
import { nameFunctions, resourcesOfType } from './identity.ts';
import type { FunctionError } from './lambda-thread.ts';
import type { Resolver } from './resolve.ts';

export type InvocationOutcome =
  | { kind: 'answered'; payload: unknown }
  | { kind: 'failed'; error: FunctionError }
  | { kind: 'throttled' }
  | { kind: 'too-large'; part: 'request' | 'response'; bytes: number };

/** Lambda's limit for a synchronous payload, each way. */
export const invokePayloadLimitBytes = 6 * 1024 * 1024;

/**
 * Environments that a function without reserved concurrency may have here: more threads than cores only start slower. AWS
 * throttles beyond its quota; here callers wait in line, for a laptop's cores are not the template's business.
 */
const environmentsWithoutReservation = Math.max(4, 2 * availableParallelism());

const idleLifeMs = 10 * 60_000;

const functionSchema = z.object({
  Handler: z.string(),
  Runtime: z.string().regex(/^nodejs/, 'The local runtime runs Node.js functions only.'),
  Timeout: z.coerce.number().default(3),
  MemorySize: z.coerce.number().default(128),
  ReservedConcurrentExecutions: z.coerce.number().optional(),
  Role: z.string().optional(),
  Environment: z.object({ Variables: z.record(z.string(), z.coerce.string()).default({}) }).default({ Variables: {} }),
  LoggingConfig: z.object({ LogGroup: z.string().optional() }).optional(),
});

export interface LocalFunctionSpec {
  readonly name: string;
  readonly arn: string;
  readonly roleArn: string | undefined;
  readonly bundleFile: string;
  readonly exportName: string;
  readonly timeoutMs: number;
  readonly memoryMegabytes: number;
  readonly reservedConcurrency: number | undefined;
  readonly variables: Readonly<Record<string, string>>;
  readonly logGroupName: string;
}

/** Reads a template's functions with everything that decides how they run. */
export function readFunctions(assembly: CloudAssembly, resolver: Resolver): LocalFunctionSpec[] {
  const names = nameFunctions(assembly);
  return resourcesOfType(assembly, 'AWS::Lambda::Function')
    .filter(hasZippedAsset)
    .map((resource) => {
      const properties = functionSchema.parse(resolver.properties(resource));
      const name = names.get(resource) ?? resource.logicalId;
      const folder = assetFolder(assembly, resource, resolver);
      const [file = '', exportName = ''] = properties.Handler.split('.');
      return {
        name,
        arn: resolver.identity(resource).attributes['Arn'] ?? name,
        roleArn: properties.Role,
        bundleFile:
          ['.mjs', '.js', '.cjs'].map((extension) => path.join(folder, file + extension)).find(existsSync) ??
          path.join(folder, `${file}.mjs`),
        exportName,
        timeoutMs: properties.Timeout * 1000,
        memoryMegabytes: properties.MemorySize,
        reservedConcurrency: properties.ReservedConcurrentExecutions,
        variables: properties.Environment.Variables,
        logGroupName: properties.LoggingConfig?.LogGroup ?? `/aws/lambda/${name}`,
      };
    });
}

/** Inline code is only used by providers of custom resources, which deploy things and serve nothing. */
function hasZippedAsset(resource: Resource): boolean {
  const code = resource.properties['Code'];
  return typeof code === 'object' && code !== null && 'S3Key' in code;
}

function assetFolder(assembly: CloudAssembly, resource: Resource, resolver: Resolver): string {
  const { S3Key } = z.object({ S3Key: z.string() }).parse(resolver.properties(resource)['Code']);
  const hash = path.basename(S3Key, '.zip');
  const folder = assembly.stacks.find((stack) => stack.name === resource.stackName)?.assetFolders.get(hash);
  if (folder === undefined) throw new Error(`No asset ${hash} for the function ${resource.logicalId}.`);
  return folder;
}

export interface FunctionOptions {
  /** Set in addition to the template's own variables: region, credentials, endpoints. */
  readonly platformVariables: Readonly<Record<string, string>>;
  readonly onOutput: (chunk: Buffer) => void;
}

/** One deployed function: its environments, its concurrency, its queue of waiting callers. */
export class LocalFunction {
  readonly spec: LocalFunctionSpec;
  readonly #options: FunctionOptions;
  readonly #environments = new Map<ExecutionEnvironment, { idleSinceMs: number }>();
  readonly #waiting: (() => void)[] = [];
  #inFlight = 0;
  #stopped = false;

  constructor(spec: LocalFunctionSpec, options: FunctionOptions) {
    this.spec = spec;
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  async invoke(event: unknown): Promise<InvocationOutcome> {
    const payload = JSON.stringify(event);
    const bytes = Buffer.byteLength(payload);
    if (bytes > invokePayloadLimitBytes) return { kind: 'too-large', part: 'request', bytes };
    const { reservedConcurrency } = this.spec;
    if (reservedConcurrency !== undefined && this.#inFlight >= reservedConcurrency) return { kind: 'throttled' };
    while (this.#inFlight >= (reservedConcurrency ?? environmentsWithoutReservation)) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#stopped) return { kind: 'failed', error: stoppedError };
    this.#inFlight += 1;
    try {
      const environment = this.#idleEnvironment();
      const outcome = await environment.run(payload);
      if (environment.dead) this.#environments.delete(environment);
      else this.#environments.set(environment, { idleSinceMs: Date.now() });
      return judge(outcome);
    } finally {
      this.#inFlight -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Ends environments that are running something, `most` of them; their invocations fail as a crash would. */
  async killBusy(most?: number): Promise<number> {
    const busy = [...this.#environments.keys()].filter((environment) => environment.busy).slice(0, most);
    await Promise.all(busy.map((environment) => environment.kill()));
    return busy.length;
  }

  /** Ends every environment; whoever invokes the function later gets a failure, not a new thread. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#environments.keys()].map((environment) => environment.kill()));
    this.#environments.clear();
  }

  /** The environment used last is reused first, as on AWS; those that nobody needed for long are let go. */
  #idleEnvironment(): ExecutionEnvironment {
    for (const environment of this.#environments.keys()) if (environment.dead) this.#environments.delete(environment);
    const idle = [...this.#environments]
      .filter(([environment]) => !environment.busy)
      .toSorted(([, a], [, b]) => b.idleSinceMs - a.idleSinceMs);
    for (const [environment, { idleSinceMs }] of idle.slice(1)) {
      if (Date.now() - idleSinceMs < idleLifeMs) continue;
      this.#environments.delete(environment);
      void environment.kill();
    }
    const [warmest] = idle;
    if (warmest !== undefined) return warmest[0];
    const { spec } = this;
    const environment = new ExecutionEnvironment({
      thread: {
        bundleFile: spec.bundleFile,
        exportName: spec.exportName,
        functionName: spec.name,
        functionArn: spec.arn,
        memoryMegabytes: spec.memoryMegabytes,
        logGroupName: spec.logGroupName,
      },
      variables: { ...this.#options.platformVariables, ...spec.variables },
      timeoutMs: spec.timeoutMs,
      onOutput: this.#options.onOutput,
    });
    this.#environments.set(environment, { idleSinceMs: Date.now() });
    return environment;
  }
}

const stoppedError: FunctionError = {
  errorType: 'Runtime.Stopped',
  errorMessage: 'The runtime has stopped',
  trace: [],
};

function judge(outcome: EnvironmentOutcome): InvocationOutcome {
  switch (outcome.kind) {
    case 'answered': {
      const bytes = Buffer.byteLength(outcome.payload);
      if (bytes > invokePayloadLimitBytes) return { kind: 'too-large', part: 'response', bytes };
      return { kind: 'answered', payload: JSON.parse(outcome.payload) };
    }
    case 'failed':
    case 'timed-out':
      return { kind: 'failed', error: outcome.error };
  }
}

/** All functions, found by name or ARN. */
export class Functions {
  readonly #byName: ReadonlyMap<string, LocalFunction>;

  constructor(functions: readonly LocalFunction[]) {
    this.#byName = new Map(functions.map((one) => [one.spec.name, one]));
  }

  all(): LocalFunction[] {
    return [...this.#byName.values()];
  }

  named(name: string): LocalFunction | undefined {
    return this.#byName.get(name);
  }

  /** The function of a bare ARN, of a name, or of an API integration's URI that wraps the ARN. */
  byReference(reference: string): LocalFunction {
    const name = /:function:([^:/]+)/.exec(reference)?.[1] ?? reference;
    const found = this.#byName.get(name);
    if (found === undefined) throw new Error(`The template has no function ${reference}.`);
    return found;
  }

  async stop(): Promise<void> {
    await Promise.all(this.all().map((one) => one.stop()));
  }
}
