import type { CloudAssembly, Resource, Stack } from '../assembly/cloud-assembly.ts';

/** What CloudFormation would know of a created resource: what `Ref` and `Fn::GetAtt` return. */
export interface Identity {
  readonly ref: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export type Identify = (resource: Resource, resolve: (value: unknown) => unknown, stack: Stack) => Identity;

export const accountId = '000000000000';

/**
 * Resolves CloudFormation's intrinsic functions over all stacks of an assembly. What it doesn't know it refuses: a value
 * that is silently wrong here would be a difference from the deployed stack that no test could see.
 */
export class Resolver {
  readonly #assembly: CloudAssembly;
  readonly #identify: Identify;
  readonly #addresses: () => ReadonlyMap<string, string>;
  readonly #identities = new Map<Resource, Identity>();

  /**
   * @param addresses text that stands for a deployed address (an `execute-api` URL) → what answers for it here; replaced
   * in every resolved string, since templates assemble these URLs from pieces.
   */
  constructor(assembly: CloudAssembly, identify: Identify, addresses: () => ReadonlyMap<string, string>) {
    this.#assembly = assembly;
    this.#identify = identify;
    this.#addresses = addresses;
  }

  /** The resource's properties with every intrinsic resolved. */
  properties(resource: Resource): Record<string, unknown> {
    return this.resolve(resource.properties, this.#stack(resource.stackName)) as Record<string, unknown>;
  }

  identity(resource: Resource): Identity {
    let identity = this.#identities.get(resource);
    if (identity === undefined) {
      const stack = this.#stack(resource.stackName);
      identity = this.#identify(resource, (value) => this.resolve(value, stack), stack);
      this.#identities.set(resource, identity);
    }
    return identity;
  }

  resolve(value: unknown, stack: Stack): unknown {
    if (typeof value === 'string') return this.#localize(value);
    if (Array.isArray(value)) {
      return value.map((entry) => this.resolve(entry, stack)).filter((entry) => entry !== undefined);
    }
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    const [only] = entries;
    if (entries.length === 1 && only !== undefined && isIntrinsic(only[0])) {
      const result = this.#intrinsic(only[0], only[1], stack);
      return typeof result === 'string' ? this.#localize(result) : result;
    }
    const resolved = entries.map(([key, entry]) => [key, this.resolve(entry, stack)] as const);
    return Object.fromEntries(resolved.filter(([, entry]) => entry !== undefined));
  }

  #intrinsic(name: string, argument: unknown, stack: Stack): unknown {
    switch (name) {
      case 'Ref':
        return this.#ref(text(argument), stack);
      case 'Fn::GetAtt':
        return this.#attribute(argument, stack);
      case 'Fn::Join': {
        const [separator, parts] = list(argument);
        return list(this.resolve(parts, stack)).map(text).join(text(separator));
      }
      case 'Fn::Sub':
        return this.#substitute(argument, stack);
      case 'Fn::Select': {
        const [index, options] = list(argument);
        const chosen = list(this.resolve(options, stack))[Number(index)];
        if (chosen === undefined) throw new Error(`Fn::Select has no element ${text(index)}.`);
        return chosen;
      }
      case 'Fn::Split': {
        const [separator, source] = list(argument);
        return text(this.resolve(source, stack)).split(text(separator));
      }
      case 'Fn::ImportValue':
        return this.#imported(text(this.resolve(argument, stack)));
      case 'Fn::GetStackOutput': {
        const { StackName, OutputName } = this.resolve(argument, stack) as Record<string, unknown>;
        return this.#output(this.#stack(text(StackName)), text(OutputName));
      }
      case 'Fn::ToJsonString':
        return JSON.stringify(this.resolve(argument, stack));
      case 'Fn::Base64':
        return Buffer.from(text(this.resolve(argument, stack))).toString('base64');
      default:
        throw new Error(`The local runtime does not resolve ${name} (stack ${stack.name}).`);
    }
  }

  #ref(name: string, stack: Stack): unknown {
    switch (name) {
      case 'AWS::NoValue':
        return undefined;
      case 'AWS::Region':
        return stack.region;
      case 'AWS::AccountId':
        return accountId;
      case 'AWS::Partition':
        return 'aws';
      case 'AWS::URLSuffix':
        return 'amazonaws.com';
      case 'AWS::StackName':
        return stack.name;
      case 'AWS::StackId':
        return `arn:aws:cloudformation:${stack.region}:${accountId}:stack/${stack.name}/local`;
      default:
        if (stack.parameterDefaults.has(name)) return stack.parameterDefaults.get(name);
        return this.identity(this.#resource(name, stack)).ref;
    }
  }

  #attribute(argument: unknown, stack: Stack): string {
    const path = typeof argument === 'string' ? argument.split('.') : list(argument).map(text);
    const [logicalId = '', ...rest] = path;
    const resource = this.#resource(logicalId, stack);
    const name = rest.join('.');
    const value = this.identity(resource).attributes[name];
    if (value === undefined) throw new Error(`The local runtime knows no attribute ${name} of ${resource.type}.`);
    return value;
  }

  #substitute(argument: unknown, stack: Stack): string {
    const [template, variables] = typeof argument === 'string' ? [argument, {}] : list(argument);
    const named = (variables ?? {}) as Record<string, unknown>;
    return text(template).replaceAll(/\$\{([^}]+)\}/g, (_, name: string) => {
      if (name.startsWith('!')) return `\${${name.slice(1)}}`;
      if (name in named) return text(this.resolve(named[name], stack));
      return text(this.resolve(name.includes('.') ? { 'Fn::GetAtt': name.split('.') } : { Ref: name }, stack));
    });
  }

  #imported(exportName: string): unknown {
    for (const stack of this.#assembly.stacks) {
      for (const output of stack.outputs.values()) {
        if (output.exportName !== undefined && this.resolve(output.exportName, stack) === exportName)
          return this.resolve(output.value, stack);
      }
    }
    throw new Error(`No stack exports ${exportName}.`);
  }

  #output(stack: Stack, name: string): unknown {
    const output = stack.outputs.get(name);
    if (output === undefined) throw new Error(`Stack ${stack.name} has no output ${name}.`);
    return this.resolve(output.value, stack);
  }

  #stack(name: string): Stack {
    const stack = this.#assembly.stacks.find((candidate) => candidate.name === name);
    if (stack === undefined) throw new Error(`The assembly has no stack ${name}.`);
    return stack;
  }

  #resource(logicalId: string, stack: Stack): Resource {
    const resource = stack.resources.get(logicalId);
    if (resource === undefined) throw new Error(`Stack ${stack.name} has no resource ${logicalId}.`);
    return resource;
  }

  #localize(value: string): string {
    let localized = value;
    for (const [deployed, here] of this.#addresses()) localized = localized.replaceAll(deployed, here);
    return localized;
  }
}

const isIntrinsic = (key: string) => key === 'Ref' || key.startsWith('Fn::');

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Error(`Expected a list in the template, found ${JSON.stringify(value)}.`);
  return value;
}

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new Error(`Expected text in the template, found ${JSON.stringify(value)}.`);
}
