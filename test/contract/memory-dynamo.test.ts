import {
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { MemoryDynamo } from '../fakes/memory-dynamo.ts';

/** What the suites of the stores, which run over it, don't ask of it. */

let dynamo: MemoryDynamo;
beforeEach(() => {
  dynamo = new MemoryDynamo();
});

const TableName = 'memory';
const Key = { pk: { S: 'job_1' }, sk: { S: 'job' } };
const put = (attempt: number) =>
  dynamo.send(new PutItemCommand({ TableName, Item: { ...Key, a: { N: `${attempt}` } } }));
const get = () => dynamo.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
const raise = (by: number, from: number, more: object = {}) =>
  dynamo.send(
    new UpdateItemCommand({
      TableName,
      Key,
      UpdateExpression: 'SET #a = #a + :by',
      ConditionExpression: '#a = :from',
      ExpressionAttributeNames: { '#a': 'a' },
      ExpressionAttributeValues: { ':by': { N: `${by}` }, ':from': { N: `${from}` } },
      ReturnValues: 'ALL_NEW',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      ...more,
    }),
  );

describe('what it does not know', () => {
  it('throws, and is never answered wrongly', () => {
    const unknown = { TableName, Key, Unheard: true } as ConstructorParameters<typeof GetItemCommand>[0];
    expect(() => dynamo.send(new GetItemCommand(unknown))).toThrow('Unheard');
    const batch = new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys: [Key] } } });
    expect(() => dynamo.send(batch as unknown as GetItemCommand)).toThrow('BatchGetItemCommand');
    expect(() => dynamo.send(new GetItemCommand({ TableName: 'other', Key }))).toThrow('no table other');
    const query = new QueryCommand({
      TableName,
      IndexName: 'queued',
      KeyConditionExpression: 'queuedLane = :lane',
      ExpressionAttributeValues: { ':lane': { S: 'default' } },
    });
    expect(() => dynamo.send(query)).toThrow('index');
  });

  it('is refused as DynamoDB refuses it', () => {
    const wrong = { ExpressionAttributeNames: { '#a': 'a', '#b': 'b' } };
    put(1);
    raise(1, 1);
    expect(() => raise(1, 2, wrong)).toThrow('unused in expressions');
    expect(() => raise(1, 2, { UpdateExpression: 'SET #a = #a + :gone' })).toThrow('not defined');
    expect(get()).toMatchObject({ Item: { a: { N: '2' } } });
  });
});

it('fills the values of this request into an expression that it has seen before', () => {
  put(1);
  expect(raise(10, 1)).toMatchObject({ Attributes: { a: { N: '11' } } });
  expect(raise(20, 11)).toMatchObject({ Attributes: { a: { N: '31' } } });
  expect(() => raise(20, 11)).toThrow(ConditionalCheckFailedException);
  const other = { ExpressionAttributeNames: { '#a': 'b' } };
  expect(() => raise(1, 31, other)).toThrow(ConditionalCheckFailedException);
  const text = { ExpressionAttributeValues: { ':by': { S: 'x' }, ':from': { N: '31' } } };
  expect(() => raise(0, 0, text)).toThrow('Incorrect operand type');
});

it('hands out what nobody can change, and keeps what nobody changes any more', () => {
  const Item = { ...Key, b: { B: new Uint8Array([1, 2, 3]) } };
  dynamo.send(new PutItemCommand({ TableName, Item }));
  Item.b.B[0] = 9;
  expect(get()).toMatchObject({ Item: { b: { B: new Uint8Array([1, 2, 3]) } } });
  const { Item: given } = get() as { Item: Record<string, object> };
  expect(() => Object.assign(given, { pk: { S: 'other' } })).toThrow(TypeError);
});

it('tells of each write, and of what a restored table brings and takes', () => {
  const told: unknown[] = [];
  dynamo.whenWritten((key, item) => told.push([key.pk, item?.['a']?.N]));
  put(1);
  const snapshot = dynamo.snapshot();
  raise(1, 1);
  expect(() => raise(1, 1)).toThrow(ConditionalCheckFailedException);
  dynamo.send(new PutItemCommand({ TableName, Item: { ...Key, pk: { S: 'job_2' } } }));
  dynamo.restore(snapshot);
  expect(get()).toMatchObject({ Item: { a: { N: '1' } } });
  dynamo.send(new DeleteItemCommand({ TableName, Key }));
  dynamo.send(new DeleteItemCommand({ TableName, Key }));
  expect(told).toEqual([
    ['job_1', '1'],
    ['job_1', '2'],
    ['job_2', undefined],
    ['job_2', undefined],
    ['job_1', '1'],
    ['job_1', undefined],
  ]);
});
