import { createHash } from 'node:crypto';
import type { CloudAssembly, Resource, Stack } from '../assembly/cloud-assembly.ts';
import { accountId, type Identify, type Identity } from './resolve.ts';

/** Every resource of a type, over all stacks. */
export function resourcesOfType(assembly: CloudAssembly, ...types: string[]): Resource[] {
  return assembly.stacks.flatMap((stack) =>
    [...stack.resources.values()].filter((resource) => types.includes(resource.type)),
  );
}

export interface IdentityOptions {
  /** Base of queue URLs, e.g. `http://127.0.0.1:4321`. */
  readonly queueEndpoint: () => string;
  readonly functionNames: ReadonlyMap<Resource, string>;
}

/** The names that resources have here. They come from the template alone, so that a restart finds its data again. */
export function localIdentities({ queueEndpoint, functionNames }: IdentityOptions): Identify {
  return (resource, resolve, stack) => {
    const named = (property: string, fallback = resource.logicalId): string => {
      const given = resolve(resource.properties[property]);
      return typeof given === 'string' ? given : fallback;
    };
    const arn = (service: string, rest: string) => `arn:aws:${service}:${stack.region}:${accountId}:${rest}`;
    switch (resource.type) {
      case 'AWS::Lambda::Function': {
        const name = functionNames.get(resource) ?? resource.logicalId;
        return { ref: name, attributes: { Arn: arn('lambda', `function:${name}`) } };
      }
      case 'AWS::DynamoDB::Table':
      case 'AWS::DynamoDB::GlobalTable': {
        const name = named('TableName');
        return { ref: name, attributes: { Arn: arn('dynamodb', `table/${name}`) } };
      }
      case 'AWS::SQS::Queue': {
        const name = named('QueueName');
        return {
          ref: `${queueEndpoint()}/${accountId}/${name}`,
          attributes: { Arn: arn('sqs', name), QueueName: name },
        };
      }
      case 'AWS::S3::Bucket': {
        const name = named('BucketName', resource.logicalId.toLowerCase().slice(0, 63));
        return {
          ref: name,
          attributes: {
            Arn: `arn:aws:s3:::${name}`,
            DomainName: `${name}.s3.amazonaws.com`,
            RegionalDomainName: `${name}.s3.${stack.region}.amazonaws.com`,
          },
        };
      }
      case 'AWS::SecretsManager::Secret': {
        const secretArn = arn('secretsmanager', `secret:${named('Name')}-${shortHash(resource).slice(0, 6)}`);
        return { ref: secretArn, attributes: { Id: secretArn, Arn: secretArn } };
      }
      case 'AWS::Events::EventBus': {
        const name = named('Name');
        return { ref: name, attributes: { Name: name, Arn: arn('events', `event-bus/${name}`) } };
      }
      case 'AWS::IAM::Role': {
        const name = named('RoleName');
        return { ref: name, attributes: { Arn: `arn:aws:iam::${accountId}:role/${name}`, RoleId: name } };
      }
      case 'AWS::ApiGatewayV2::Api':
        return apiIdentity(resource, stack);
      case 'AWS::ApiGatewayV2::Stage':
        return { ref: named('StageName'), attributes: {} };
      case 'AWS::SNS::Topic': {
        const topicArn = arn('sns', named('TopicName'));
        return { ref: topicArn, attributes: { TopicArn: topicArn, TopicName: named('TopicName') } };
      }
      case 'AWS::Logs::LogGroup': {
        const name = named('LogGroupName');
        return { ref: name, attributes: { Arn: arn('logs', `log-group:${name}:*`) } };
      }
      default:
        return { ref: resource.logicalId, attributes: genericAttributes(resource, stack) };
    }
  };
}

function apiIdentity(resource: Resource, stack: Stack): Identity {
  const id = apiId(resource);
  const scheme = resource.properties['ProtocolType'] === 'WEBSOCKET' ? 'wss' : 'https';
  return { ref: id, attributes: { ApiId: id, ApiEndpoint: `${scheme}://${executeApiHost(id, stack.region)}` } };
}

/** Resources that only other, unserved resources point at (alarms, keys, log destinations): an ARN is enough. */
function genericAttributes(resource: Resource, stack: Stack): Record<string, string> {
  const service = (resource.type.split('::')[1] ?? 'unknown').toLowerCase();
  return { Arn: `arn:aws:${service}:${stack.region}:${accountId}:${resource.logicalId}` };
}

export const apiId = (resource: Resource) => `api${shortHash(resource).slice(0, 7)}`;

export const executeApiHost = (id: string, region: string) => `${id}.execute-api.${region}.amazonaws.com`;

function shortHash(resource: Resource): string {
  return createHash('sha256').update(`${resource.stackName}/${resource.logicalId}`).digest('hex');
}

/**
 * Each function's name: the template's own, else the construct's (`submit-job`), else the logical id. Constructs that only
 * wrap (`Resource`, `Function`) name nothing. A lane's worker drops the lane from its name, unless another has that name.
 */
export function nameFunctions(assembly: CloudAssembly): Map<Resource, string> {
  const names = new Map<Resource, string>();
  const taken = new Set<string>();
  for (const resource of resourcesOfType(assembly, 'AWS::Lambda::Function')) {
    const given = resource.properties['FunctionName'];
    const path = resource.constructPath.split('/').filter((part) => !wrappers.has(part.toLowerCase()));
    const own = typeof given === 'string' ? given : kebab(path.at(-1) ?? resource.logicalId);
    const lane = laneOf(resource);
    const base = lane !== undefined && own.endsWith(`-${lane}`) ? own.slice(0, -lane.length - 1) : own;
    const name =
      [base, own, `${own}-${kebab(resource.stackName)}`].find((free) => !taken.has(free)) ?? resource.logicalId;
    names.set(resource, name);
    taken.add(name);
  }
  return names;
}

function laneOf({ properties }: Resource): string | undefined {
  const environment = properties['Environment'] as { Variables?: Record<string, unknown> } | undefined;
  const lane = environment?.Variables?.['LANE'];
  return typeof lane === 'string' ? lane : undefined;
}

const wrappers = new Set(['resource', 'function', 'handler', 'default', 'fn', 'lambda']);

const kebab = (name: string) => name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
