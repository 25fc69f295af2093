import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Evidence, EvidenceStore } from '../../lambdas/domain/ports.ts';
import { DynamoEvidenceStore } from '../../lambdas/store/dynamo-evidence-store.ts';
import { MemoryDynamo } from '../fakes/memory-dynamo.ts';
import { MemoryEvidenceStore } from '../fakes/memory-evidence-store.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';
import { noon } from '../fixtures/stored-job.ts';

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

const keptMs = 45 * 86_400_000;

const evidence = (at: number, what = 'asked'): Evidence => ({
  at,
  attempt: 2,
  generation: 1,
  vendorKey: 'job_a.1',
  what,
  detail: { status: 502, headers: { 'retry-after': '2' }, bodySent: true, tiny: 1e-300, none: null },
});

describe.each<[string, () => Promise<EvidenceStore>]>([
  ['MemoryEvidenceStore', async () => new MemoryEvidenceStore()],
  ['DynamoEvidenceStore', async () => new DynamoEvidenceStore(dynamo.client, await dynamo.createTable(), keptMs)],
  [
    'DynamoEvidenceStore over MemoryDynamo',
    async () => new DynamoEvidenceStore(new MemoryDynamo().client, 'memory', keptMs),
  ],
])('%s', (_, create) => {
  let store: EvidenceStore;
  beforeEach(async () => {
    store = await create();
  });

  it('reads the evidence of one job, oldest first, exactly as it was added', async () => {
    const added = [evidence(noon + 2), evidence(noon + 1, 'send_unknown'), evidence(noon + 10)];
    for (const one of added) await store.add('job_a', one);
    await store.add('job_b', evidence(noon));
    expect(await store.read('job_a')).toEqual([added[1], added[0], added[2]]);
    expect(await store.read('job_c')).toEqual([]);
  });

  it('keeps what happened in one moment apart, and what is added twice once', async () => {
    await store.add('job_a', evidence(noon, 'asked'));
    await store.add('job_a', evidence(noon, 'not_found'));
    await store.add('job_a', evidence(noon, 'asked'));
    const whats = (await store.read('job_a')).map(({ what }) => what);
    expect(whats.toSorted()).toEqual(['asked', 'not_found']);
  });

  it('reads a hundred at most, the first ones, since they say what was sent', async () => {
    for (let index = 0; index < 105; index += 1) await store.add('job_a', evidence(noon + index));
    const read = await store.read('job_a');
    expect(read).toHaveLength(100);
    expect(read.at(0)?.at).toBe(noon);
    expect(read.at(-1)?.at).toBe(noon + 99);
  });
});

it('goes by itself once the time is over that the deployment gives it', async () => {
  const TableName = await dynamo.createTable();
  await new DynamoEvidenceStore(dynamo.client, TableName, keptMs).add('job_a', evidence(noon));
  const { Items } = await dynamo.client.send(new ScanCommand({ TableName }));
  expect(Items?.map(({ ttl }) => ttl?.N)).toEqual([`${(noon + keptMs) / 1000}`]);
});
