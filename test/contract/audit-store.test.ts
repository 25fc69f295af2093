import { QueryCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEntry, AuditStore } from '../../lambdas/domain/ports.ts';
import { plain } from '../../lambdas/store/conditional-write.ts';
import { DynamoAuditStore } from '../../lambdas/store/dynamo-audit-store.ts';
import { DynamoJobStore } from '../../lambdas/store/dynamo-job-store.ts';
import { MemoryAuditStore } from '../fakes/memory-audit-store.ts';
import { MemoryDynamo } from '../fakes/memory-dynamo.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';
import { noon } from '../fixtures/stored-job.ts';

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

const dayMs = 86_400_000;
const entry = (at: number, action = 'resend'): AuditEntry => ({
  at,
  actor: 'key_1',
  action,
  reason: 'the vendor confirmed by mail that it never ran',
  detail: { generation: 2 },
});

describe.each<[string, () => Promise<AuditStore>]>([
  ['MemoryAuditStore', async () => new MemoryAuditStore()],
  ['DynamoAuditStore', async () => new DynamoAuditStore(dynamo.client, await dynamo.createTable(), dayMs)],
  ['DynamoAuditStore over MemoryDynamo', async () => new DynamoAuditStore(new MemoryDynamo().client, 'memory', dayMs)],
])('%s', (_, create) => {
  let store: AuditStore;
  beforeEach(async () => {
    store = await create();
  });

  it('reads what was done to one subject, oldest first', async () => {
    for (const at of [noon + 3, noon + 1, noon + 2]) await store.add('job_a', entry(at));
    await store.add('lane#default', entry(noon, 'pause'));
    expect(await store.read('job_a')).toEqual([entry(noon + 1), entry(noon + 2), entry(noon + 3)]);
    expect(await store.read('lane#default')).toEqual([entry(noon, 'pause')]);
    expect(await store.read('job_b')).toEqual([]);
  });

  it('keeps what was done in one moment apart, and what is added twice once', async () => {
    for (const action of ['adopt', 'fail', 'adopt']) await store.add('job_a', entry(noon, action));
    expect((await store.read('job_a')).map(({ action }) => action).toSorted()).toEqual(['adopt', 'fail']);
  });
});

describe('DynamoAuditStore', () => {
  it('has a retention of its own, and outlives the siblings of its job', async () => {
    const TableName = await dynamo.createTable();
    const store = new DynamoAuditStore(dynamo.client, TableName, 365 * dayMs);
    await store.add('job_a', entry(noon));
    await new DynamoJobStore(dynamo.client, TableName).eraseSiblings('job_a');
    expect(await store.read('job_a')).toEqual([entry(noon)]);
    const { Items } = await dynamo.client.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: 'job_a' } },
      }),
    );
    expect(Items?.map((item) => plain(item)['ttl'])).toEqual([(noon + 365 * dayMs) / 1000]);
  });
});
