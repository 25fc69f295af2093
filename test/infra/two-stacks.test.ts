import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import type { EnvironmentSettings } from '../../lib/environments.ts';
import { environmentSettings } from '../../lib/settings.ts';
import { environmentWith, onlyResource, resourcesOf, synthesize, type Templates } from './synthesized.ts';

/**
 * An update goes stack by stack, and CloudFormation refuses to remove an export that the other stack, as it is deployed at
 * that moment, still imports. So what counts is always a new template beside an old one.
 */

function exportsOf({ data }: Templates): string[] {
  const outputs = Object.values(data.findOutputs('*')) as { Export?: { Name: string } }[];
  return outputs.flatMap((output) => output.Export?.Name ?? []).toSorted();
}

function importsOf({ gateway }: Templates): string[] {
  const found = JSON.stringify(gateway.toJSON()).matchAll(/"Fn::ImportValue":"([^"]+)"/g);
  return [...new Set([...found].map(([, name = '']) => name))].toSorted();
}

/** What the gateway stack imports and the data stack does not export. */
function missing(gateway: Templates, data: Templates): string[] {
  const exported = exportsOf(data);
  return importsOf(gateway).filter((name) => !exported.includes(name));
}

/** `cdk deploy --all`: the data stack goes first. */
function missingOnDeployAll(from: Templates, to: Templates): string[] {
  return [...missing(from, to), ...missing(to, to)];
}

/** `cdk deploy <gateway stack> --exclusively`, then `--all`. */
function missingOnGatewayFirst(from: Templates, to: Templates): string[] {
  return [...missing(to, from), ...missingOnDeployAll(to, to)];
}

const { vendors, lanes } = environmentSettings().staging;
const images = vendors['images']!;
const before = synthesize(environmentWith({ protectData: true }));

describe('a vendor', () => {
  const another = synthesize(environmentWith({ protectData: true, vendors: { images, another: images } }));

  test('is added by deploying both stacks', () => {
    expect(missingOnDeployAll(before, another)).toEqual([]);
  });

  test('is removed from the gateway stack first: the deployed one holds on to its secret', () => {
    expect(missingOnDeployAll(another, before)).toEqual([expect.stringContaining('VendorSecretanother')]);
    expect(missingOnGatewayFirst(another, before)).toEqual([]);
  });

  test('is renamed in two steps, since neither stack can go first', () => {
    const features = Object.fromEntries(
      Object.entries(environmentSettings().staging.features).map(([name, to]) => [name, { ...to, vendor: 'another' }]),
    );
    const renamed = synthesize(environmentWith({ protectData: true, vendors: { another: images }, features }));
    expect(missingOnDeployAll(before, renamed)).not.toEqual([]);
    expect(missingOnGatewayFirst(before, renamed)).not.toEqual([]);
  });
});

test('a lane comes and goes with both stacks', () => {
  const slow = synthesize(environmentWith({ protectData: true, lanes: { ...lanes, slow: { cap: 1, ceiling: 2 } } }));
  expect(missingOnDeployAll(before, slow)).toEqual([]);
  expect(missingOnDeployAll(slow, before)).toEqual([]);
});

describe('a restored table', () => {
  const restoredTable = 'Slowlane-staging-data-restored-20261130';
  const protectData: EnvironmentSettings['protectData'] = { restoredTable };
  const after = synthesize(environmentWith({ protectData }));

  test('is put in the place of the first one, and the first one back in its, by deploying both stacks', () => {
    expect(missingOnDeployAll(before, after)).toEqual([]);
    expect(missingOnDeployAll(after, before)).toEqual([]);
  });

  test('changes nothing in the data stack, which goes on to own and protect its first one', () => {
    expect(after.data.toJSON()).toEqual(before.data.toJSON());
  });

  test('is the one that every function is told of, and the output', () => {
    const named = tableNamesIn(after.gateway);
    expect(named.length).toBeGreaterThan(15);
    expect(new Set(named)).toEqual(new Set([restoredTable]));
    expect(after.gateway.findOutputs('TableName')).toMatchObject({ TableName: { Value: restoredTable } });
    expect(importsOf(after).filter((name) => name.includes('DataJobs'))).toEqual([]);
  });

  test('is granted as the first one was, indexes and all', () => {
    const granted = tableGrantsIn(after.gateway);
    expect(granted.every(({ resource }) => resource.includes(`:table/${restoredTable}`))).toBe(true);
    const first = tableGrantsIn(before.gateway);
    expect(granted.map(shorten)).toEqual(first.map(shorten));
    expect(first.map(shorten).join()).toContain('/index/queued');
  });

  test('keeps the protection of the stacks', () => {
    expect(onlyResource(after.data, 'AWS::DynamoDB::Table').Properties).toMatchObject({
      DeletionProtectionEnabled: true,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    });
  });

  test.each([
    ['of another environment', { restoredTable: 'Slowlane-prod-data-restored' }, 'restoredTable: must begin with'],
    ['that a tool would pass over', { restoredTable: 'jobs' }, 'restoredTable: must begin with Slowlane-staging-data-'],
    ['without a name', {}, 'staging.protectData: must be true, false, or since a restore'],
  ])('%s is refused', (_case, wrong, named) => {
    expect(() => environmentWith({ protectData: wrong as { restoredTable: string } })).toThrow(named);
  });
});

function tableNamesIn(gateway: Template): unknown[] {
  return Object.values(resourcesOf(gateway, 'AWS::Lambda::Function')).flatMap(({ Properties }) => {
    const { Variables } = Properties['Environment'] as { Variables: Record<string, unknown> };
    return Variables['TABLE_NAME'] ?? [];
  });
}

interface TableGrant {
  readonly role: string;
  readonly actions: string;
  /** As JSON. */
  readonly resource: string;
}

function tableGrantsIn(gateway: Template): TableGrant[] {
  return Object.entries(resourcesOf(gateway, 'AWS::IAM::Role')).flatMap(([role, { Properties }]) => {
    const policies = Properties['Policies'] as {
      PolicyDocument: { Statement: { Action: unknown; Resource: unknown }[] };
    }[];
    return policies
      .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
      .map(({ Action, Resource }) => ({ role, actions: JSON.stringify(Action), resource: [Resource].flat() }))
      .filter(({ actions }) => actions.includes('dynamodb:'))
      .flatMap(({ resource, ...rest }) => resource.map((one) => ({ ...rest, resource: JSON.stringify(one) })));
  });
}

function shorten({ role, actions, resource }: TableGrant): string {
  return `${role} ${actions} ${/\/index\/\w+/.exec(resource)?.[0] ?? 'table'}`;
}
