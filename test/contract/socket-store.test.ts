import { ConditionalCheckFailedException, DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { longestSocketMs, type SocketStore } from '../../lambdas/domain/sockets.ts';
import { DynamoSocketStore } from '../../lambdas/store/dynamo-socket-store.ts';
import { MemorySocketStore } from '../fakes/memory-socket-store.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';

const owner = 'acme/ann';
const now = Date.UTC(2026, 0, 1);

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

describe.each<[string, () => Promise<SocketStore>]>([
  ['MemorySocketStore', () => Promise.resolve(new MemorySocketStore())],
  ['DynamoSocketStore', async () => new DynamoSocketStore(dynamo.client, await dynamo.createTable())],
])('%s', (_, create) => {
  let store: SocketStore;
  beforeEach(async () => {
    store = await create();
  });

  it('admits up to the limit, for each owner by itself', async () => {
    expect(await store.admit(owner, 'a=', now, 2)).toBe('admitted');
    expect(await store.admit(owner, 'b=', now, 2)).toBe('admitted');
    expect(await store.admit(owner, 'c=', now, 2)).toBe('too_many');
    expect(await store.admit('acme/ben', 'c=', now, 2)).toBe('admitted');
  });

  it('admits the same connection again, full or not: a repeated write is no second socket', async () => {
    await store.admit(owner, 'a=', now, 1);
    expect(await store.admit(owner, 'a=', now, 1)).toBe('admitted');
    expect(await store.admit(owner, 'b=', now, 1)).toBe('too_many');
  });

  it('admits exactly as many as the limit of many at once', async () => {
    const admissions = await Promise.all(
      Array.from({ length: 12 }, (_, index) => store.admit(owner, `socket-${index}`, now, 5)),
    );
    expect(admissions.filter((admission) => admission === 'admitted')).toHaveLength(5);
  });

  it('gives the place of one that left to the next', async () => {
    await store.admit(owner, 'a=', now, 1);
    await store.leave(owner, 'a=');
    expect(await store.admit(owner, 'b=', now, 1)).toBe('admitted');
  });

  it('does not mind a farewell of one that it never knew', async () => {
    await store.leave(owner, 'a=');
    await store.admit(owner, 'b=', now, 1);
    await store.leave(owner, 'a=');
    expect(await store.admit(owner, 'c=', now, 1)).toBe('too_many');
  });

  it('does not count those that must have ended, though nobody said so', async () => {
    await store.admit(owner, 'a=', now, 2);
    await store.admit(owner, 'b=', now + 1_000, 2);
    expect(await store.admit(owner, 'c=', now + longestSocketMs - 1, 2)).toBe('too_many');
    expect(await store.admit(owner, 'c=', now + longestSocketMs, 2)).toBe('admitted');
    expect(await store.admit(owner, 'd=', now + longestSocketMs, 2)).toBe('too_many');
  });

  it('admits no more than the limit of many at once in the places of those that ended', async () => {
    for (const id of ['a=', 'b=', 'c=']) await store.admit(owner, id, now, 3);
    const later = now + longestSocketMs;
    const admissions = await Promise.all(
      Array.from({ length: 8 }, (_, index) => store.admit(owner, `socket-${index}`, later, 3)),
    );
    expect(admissions.filter((admission) => admission === 'admitted')).toHaveLength(3);
  });

  it('admits nobody while a lowered limit is exceeded', async () => {
    for (const id of ['a=', 'b=', 'c=']) await store.admit(owner, id, now, 3);
    await store.leave(owner, 'a=');
    expect(await store.admit(owner, 'd=', now, 2)).toBe('too_many');
  });
});

it('names no owner where the sockets change too often: what it says is logged', async () => {
  const error = await admitInVain().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  expect(String(error)).toContain('changed too often');
  expect(String(error)).not.toMatch(/acme|ann/);
});

/** Each try finds the full item that it was told of, whose one socket must have ended, and loses the race for its place. */
async function admitInVain(): Promise<unknown> {
  const api = mockClient(DynamoDBClient);
  const open = { M: { 'a=': { N: '0' } } };
  const lost = new ConditionalCheckFailedException({ message: '', $metadata: {}, Item: { open } });
  api.on(UpdateItemCommand).rejects(lost);
  return await new DynamoSocketStore(new DynamoDBClient({}), 'table').admit(owner, 'b=', now, 1).finally(() => {
    api.restore();
  });
}
