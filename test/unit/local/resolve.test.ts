import { expect, it } from 'vitest';
import type { Resource, Stack } from '../../../local/assembly/cloud-assembly.ts';
import { Resolver } from '../../../local/runtime/resolve.ts';

const resource = (stackName: string, logicalId: string, type: string): [string, Resource] => [
  logicalId,
  { stackName, logicalId, type, properties: {}, constructPath: logicalId },
];

function stack(name: string, given: Partial<Stack> = {}): Stack {
  return {
    name,
    region: 'eu-west-1',
    resources: new Map(),
    outputs: new Map(),
    parameterDefaults: new Map(),
    assetFolders: new Map(),
    ...given,
  };
}

const producer = stack('data', {
  resources: new Map([resource('data', 'Table', 'Table')]),
  outputs: new Map([
    ['Exported', { value: { 'Fn::GetAtt': ['Table', 'Arn'] }, exportName: { 'Fn::Sub': '${AWS::StackName}:arn' } }],
    ['Plain', { value: { Ref: 'Table' }, exportName: undefined }],
  ]),
});
const consumer = stack('gateway', {
  resources: new Map([resource('gateway', 'Api', 'Api')]),
  parameterDefaults: new Map([['BootstrapVersion', '/cdk-bootstrap/version']]),
});

const resolver = new Resolver(
  { stacks: [producer, consumer] },
  ({ logicalId }) => ({ ref: `ref-${logicalId}`, attributes: { Arn: `arn-${logicalId}`, 'Nested.Part': 'nested' } }),
  () => new Map([['https://ref-Api.execute-api.eu-west-1.amazonaws.com', 'http://here']]),
);
const resolve = (value: unknown) => resolver.resolve(value, consumer);

it.each([
  [{ Ref: 'Api' }, 'ref-Api'],
  [{ Ref: 'AWS::Region' }, 'eu-west-1'],
  [{ Ref: 'AWS::AccountId' }, '000000000000'],
  [{ Ref: 'BootstrapVersion' }, '/cdk-bootstrap/version'],
  [{ 'Fn::GetAtt': ['Api', 'Arn'] }, 'arn-Api'],
  [{ 'Fn::GetAtt': 'Api.Nested.Part' }, 'nested'],
  [{ 'Fn::Join': ['-', ['a', { Ref: 'Api' }, 3]] }, 'a-ref-Api-3'],
  [{ 'Fn::Sub': '${Api} ${Api.Arn} ${!Literal}' }, 'ref-Api arn-Api ${Literal}'],
  [{ 'Fn::Sub': ['${mine}-${Api}', { mine: { Ref: 'AWS::Partition' } }] }, 'aws-ref-Api'],
  [{ 'Fn::Select': [1, { 'Fn::Split': ['-', { Ref: 'Api' }] }] }, 'Api'],
  [{ 'Fn::ImportValue': 'data:arn' }, 'arn-Table'],
  [{ 'Fn::GetStackOutput': { StackName: 'data', OutputName: 'Plain' } }, 'ref-Table'],
  [{ Deep: [{ Ref: 'Api' }, { Ref: 'AWS::NoValue' }], Gone: { Ref: 'AWS::NoValue' } }, { Deep: ['ref-Api'] }],
])('resolves %j', (value, expected) => {
  expect(resolve(value)).toEqual(expected);
});

it('turns a deployed address that a template assembles from pieces into the one that answers here', () => {
  const url = {
    'Fn::Join': [
      '',
      ['https://', { Ref: 'Api' }, '.execute-api.', { Ref: 'AWS::Region' }, '.', { Ref: 'AWS::URLSuffix' }, '/live'],
    ],
  };
  expect(resolve(url)).toBe('http://here/live');
});

it.each([
  [{ Ref: 'Nothing' }, /no resource Nothing/],
  [{ 'Fn::GetAtt': ['Api', 'Unknown'] }, /no attribute Unknown/],
  [{ 'Fn::ImportValue': 'absent' }, /exports absent/],
  [{ 'Fn::GetStackOutput': { StackName: 'data', OutputName: 'absent' } }, /no output absent/],
  [{ 'Fn::FindInMap': ['a', 'b', 'c'] }, /does not resolve Fn::FindInMap/],
  [{ 'Fn::Select': [5, ['only']] }, /no element 5/],
])('refuses %j rather than guess', (value, message) => {
  expect(() => resolve(value)).toThrow(message);
});
