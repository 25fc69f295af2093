import { expect, it } from 'vitest';
import { isAllowed, policyDocumentSchema, type ConditionValues } from '../../../local/runtime/policies.ts';

const table = 'arn:aws:dynamodb:us-east-1:000000000000:table/Jobs';
const statements = (...given: object[]) => policyDocumentSchema.parse({ Statement: given }).Statement;
const ask = (given: object[], action: string, resource = table, values?: ConditionValues) =>
  isAllowed(statements(...given), action, resource, values);

const allow = (Action: string | string[], Resource: string, more: object = {}) => ({
  Effect: 'Allow',
  Action,
  Resource,
  ...more,
});
const deny = (Action: string, Resource: string, more: object = {}) => ({ Effect: 'Deny', Action, Resource, ...more });

it('allows what a statement names, and nothing that none names', () => {
  expect(ask([allow('dynamodb:GetItem', table)], 'dynamodb:GetItem')).toBe(true);
  expect(ask([allow('dynamodb:GetItem', table)], 'dynamodb:PutItem')).toBe(false);
  expect(ask([allow('dynamodb:GetItem', table)], 'dynamodb:GetItem', `${table}/index/queued`)).toBe(false);
  expect(ask([], 'dynamodb:GetItem')).toBe(false);
});

it('knows wildcards, and that a service name has no case', () => {
  expect(ask([allow('DynamoDB:Get*', '*')], 'dynamodb:GetItem')).toBe(true);
  expect(
    ask([allow('s3:GetObject', 'arn:aws:s3:::pictures/inputs/*')], 's3:GetObject', 'arn:aws:s3:::pictures/inputs/a/b'),
  ).toBe(true);
  expect(
    ask([allow('s3:GetObject', 'arn:aws:s3:::pictures/inputs/*')], 's3:GetObject', 'arn:aws:s3:::pictures/results/a'),
  ).toBe(false);
});

it('lets a Deny win', () => {
  expect(ask([allow('*', '*'), deny('dynamodb:DeleteTable', table)], 'dynamodb:DeleteTable')).toBe(false);
});

it('holds conditions to the values that are known', () => {
  const prefix = { Condition: { StringLike: { 's3:prefix': ['uploads/*'] } } };
  const list = [allow('s3:ListBucket', 'arn:aws:s3:::pictures', prefix)];
  expect(ask(list, 's3:ListBucket', 'arn:aws:s3:::pictures', { 's3:prefix': ['uploads/x'] })).toBe(true);
  expect(ask(list, 's3:ListBucket', 'arn:aws:s3:::pictures', { 's3:prefix': ['inputs/'] })).toBe(false);
  const leading = { Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['a', 'b'] } } };
  expect(
    ask([allow('dynamodb:GetItem', table, leading)], 'dynamodb:GetItem', table, { 'dynamodb:LeadingKeys': ['a', 'c'] }),
  ).toBe(false);
});

it('refuses for no condition that it can not judge', () => {
  const insecure = deny('*', '*', { Condition: { Bool: { 'aws:SecureTransport': 'false' } } });
  expect(ask([allow('*', '*'), insecure], 's3:GetObject')).toBe(true);
});
