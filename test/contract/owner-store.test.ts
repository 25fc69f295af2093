import { PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Counted, OpenJobs, OwnerStore, UploadCounter } from '../../lambdas/domain/ports.ts';
import { DynamoOwnerStore } from '../../lambdas/store/dynamo-owner-store.ts';
import { MemoryDynamo } from '../fakes/memory-dynamo.ts';
import { MemoryOwnerStore } from '../fakes/memory-owner-store.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';
import { noon } from '../fixtures/stored-job.ts';

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

const minuteMs = 60_000;
const dayMs = 86_400_000;

describe.each<[string, () => Promise<OwnerStore & UploadCounter>]>([
  ['MemoryOwnerStore', async () => new MemoryOwnerStore()],
  ['DynamoOwnerStore', async () => new DynamoOwnerStore(dynamo.client, await dynamo.createTable())],
  ['DynamoOwnerStore over MemoryDynamo', async () => new DynamoOwnerStore(new MemoryDynamo().client, 'memory')],
])('%s', (_, create) => {
  let owners: OwnerStore & UploadCounter;
  beforeEach(async () => {
    owners = await create();
  });

  let nextJob = 0;
  const count = (
    now: number,
    {
      owner = 'acme/ann',
      jobId = `job_${(nextJob += 1)}`,
      lane = 'default',
      virtualTime = 0,
      perMinute = 1_000,
      most = 1_000,
      left = undefined as OpenJobs | undefined,
    } = {},
  ) => owners.count({ owner, jobId, lane, virtualTime, now }, { submitsPerMinute: perMinute, activeJobs: most }, left);
  const openIn = (counted: Counted): OpenJobs => {
    if (counted.kind !== 'full') throw new Error(`It was ${counted.kind}.`);
    return counted.open;
  };

  it('ranks an owner after the lane and after their own last one, in each lane by itself', async () => {
    expect(await count(noon)).toEqual({ kind: 'counted', rank: 1 });
    expect(await count(noon)).toEqual({ kind: 'counted', rank: 2 });
    expect(await count(noon, { virtualTime: 40 })).toMatchObject({ rank: 41 });
    expect(await count(noon, { virtualTime: 41 })).toMatchObject({ rank: 42 });
    expect(await count(noon, { virtualTime: 7 })).toMatchObject({ rank: 43 });
    expect(await count(noon, { lane: 'other', virtualTime: 3 })).toMatchObject({ rank: 4 });
    expect(await count(noon, { owner: 'acme/bob' })).toMatchObject({ rank: 1 });
  });

  it('gives simultaneous submits of one owner a rank each', async () => {
    const counted = await Promise.all(Array.from({ length: 50 }, () => count(noon, { virtualTime: 10 })));
    const ranks = counted.flatMap((one) => (one.kind === 'counted' ? [one.rank] : []));
    expect(ranks.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (__, index) => 11 + index));
    expect(await count(noon)).toEqual({ kind: 'counted', rank: 61 });
  });

  it('limits the submits of a minute, exactly, of many at once', async () => {
    const counted = await Promise.all(Array.from({ length: 50 }, () => count(noon + 15_000, { perMinute: 7 })));
    expect(counted.filter(({ kind }) => kind === 'counted')).toHaveLength(7);
    const limited = counted.filter(({ kind }) => kind === 'limited');
    expect(limited).toHaveLength(43);
    expect(limited[0]).toEqual({ kind: 'limited', retryAfterMs: 45_000 });
    expect(await count(noon + minuteMs, { perMinute: 7 })).toEqual({ kind: 'counted', rank: 8 });
  });

  it('opens no more jobs than an owner may have, exactly, of many at once and over midnight', async () => {
    const counted = await Promise.all(Array.from({ length: 20 }, () => count(noon, { most: 3 })));
    expect(counted.filter(({ kind }) => kind === 'counted')).toHaveLength(3);
    expect(counted.filter(({ kind }) => kind === 'full')).toHaveLength(17);
    const { jobs } = openIn(await count(noon + dayMs, { most: 3 }));
    expect(jobs).toHaveLength(3);
    expect(jobs.map(({ since }) => since)).toEqual([noon, noon, noon]);
    expect(await count(noon + dayMs, { most: 4 })).toEqual({ kind: 'counted', rank: 4 });
    expect(await count(noon, { owner: 'acme/bob', most: 1 })).toMatchObject({ kind: 'counted' });
  });

  it('counts what it refused for lack of room in its minute, and moves nothing else by it', async () => {
    const full = { perMinute: 3, most: 1 };
    expect(await count(noon, { ...full, jobId: 'job_a' })).toEqual({ kind: 'counted', rank: 1 });
    const before = openIn(await count(noon, full));
    for (const refused of [1, 2, 3]) await owners.countRefused('acme/ann', { submitsPerMinute: 3 }, noon + refused);
    expect(await count(noon + 15_000, full)).toEqual({ kind: 'limited', retryAfterMs: 45_000 });
    expect(openIn(await count(noon + minuteMs, full))).toEqual(before);
    expect(await count(noon + minuteMs, { most: 2 })).toEqual({ kind: 'counted', rank: 2 });
  });

  it('gives a job that is open no second place', async () => {
    for (const sent of [1, 2, 3]) {
      expect(await count(noon, { jobId: 'job_a', most: 1 })).toEqual({ kind: 'counted', rank: sent });
    }
    expect(openIn(await count(noon, { jobId: 'job_b', most: 1 })).jobs).toEqual([{ id: 'job_a', since: noon }]);
  });

  it('takes what is left of a full counter, from one of many who say so', async () => {
    await count(noon, { jobId: 'job_a', most: 2 });
    await count(noon + 1, { jobId: 'job_b', most: 2 });
    const full = openIn(await count(noon + 2, { jobId: 'job_c', most: 2 }));
    const left = { ...full, jobs: full.jobs.filter(({ id }) => id === 'job_b') };
    const counted = await Promise.all(
      Array.from({ length: 5 }, (__, nth) => count(noon + minuteMs, { jobId: `job_c${nth}`, most: 2, left })),
    );
    expect(counted.filter(({ kind }) => kind === 'counted')).toHaveLength(1);
    const after = openIn(await count(noon + minuteMs, { most: 2, left }));
    expect(after.jobs.map(({ id }) => id)).toContain('job_b');
    expect(after.jobs).toHaveLength(2);
  });

  it('does not take what would still be too much', async () => {
    for (const jobId of ['job_a', 'job_b', 'job_c']) await count(noon, { jobId });
    const full = openIn(await count(noon, { most: 1 }));
    const left = { ...full, jobs: full.jobs.slice(1) };
    expect(openIn(await count(noon, { most: 1, left })).jobs).toHaveLength(3);
    expect(await count(noon, { most: 1, left: { ...full, jobs: [] } })).toMatchObject({ kind: 'counted' });
    expect(openIn(await count(noon, { most: 1 })).jobs).toHaveLength(1);
  });

  it('takes a clock that is behind for the window that runs', async () => {
    await count(noon + minuteMs, { perMinute: 2 });
    expect(await count(noon + minuteMs - 1, { perMinute: 2 })).toMatchObject({ kind: 'counted' });
    const late = await count(noon + minuteMs - 1, { perMinute: 2 });
    expect(late).toEqual({ kind: 'limited', retryAfterMs: minuteMs + 1 });
  });

  it('limits the uploads of a minute by themselves', async () => {
    const upload = (now: number) => owners.countUpload('acme/ann', { submitsPerMinute: 2 }, now);
    await count(noon, { perMinute: 2 });
    expect([await upload(noon), await upload(noon + 1)]).toMatchObject([{ kind: 'counted' }, { kind: 'counted' }]);
    expect(await upload(noon + 15_000)).toEqual({ kind: 'limited', retryAfterMs: 45_000 });
    expect(await count(noon + 15_000, { perMinute: 2 })).toMatchObject({ kind: 'counted', rank: 2 });
    expect(await upload(noon + minuteMs)).toMatchObject({ kind: 'counted' });
  });

  it('lets nobody in where the limit is none', async () => {
    expect(await count(noon + 1, { perMinute: 0 })).toEqual({ kind: 'limited', retryAfterMs: minuteMs - 1 });
  });
});

describe('DynamoOwnerStore', () => {
  it('writes once per submit of a burst, however many come at once', async () => {
    const table = await dynamo.createTable();
    const owners = new DynamoOwnerStore(dynamo.client, table);
    const count = (jobId: string) =>
      owners.count(
        { owner: 'acme/ann', jobId, lane: 'default', virtualTime: 0, now: noon },
        { submitsPerMinute: 100, activeJobs: 100 },
      );
    await count('job_first');
    let sent = 0;
    dynamo.client.middlewareStack.add(
      (next) => async (args) => {
        sent += 1;
        return next(args);
      },
      { step: 'initialize', name: 'countSent' },
    );
    await Promise.all(Array.from({ length: 50 }, (_, nth) => count(`job_${nth}`)));
    dynamo.client.middlewareStack.remove('countSent');
    expect(sent).toBe(50);
  });

  it('moves a counter that the version before made', async () => {
    const table = await dynamo.createTable();
    const Item = marshall({
      pk: 'owner#acme/ann',
      sk: 'counter',
      minute: Math.floor(noon / minuteMs),
      inMinute: 4,
      day: Math.floor(noon / dayMs),
      inDay: 9,
      'rank#default': 30,
    });
    await dynamo.client.send(new PutItemCommand({ TableName: table, Item }));
    const owners = new DynamoOwnerStore(dynamo.client, table);
    const submit = { owner: 'acme/ann', lane: 'default', virtualTime: 0, now: noon };
    const limits = { submitsPerMinute: 5, activeJobs: 5 };
    expect(await owners.count({ ...submit, jobId: 'job_a' }, limits)).toEqual({ kind: 'counted', rank: 31 });
    expect(await owners.count({ ...submit, jobId: 'job_b' }, limits)).toMatchObject({ kind: 'limited' });
  });

  it('makes counters that the version before can read, which counted the submits of a day', async () => {
    const TableName = await dynamo.createTable();
    const owners = new DynamoOwnerStore(dynamo.client, TableName);
    const submit = { owner: 'acme/ann', jobId: 'job_a', lane: 'default', virtualTime: 0, now: noon };
    await owners.count(submit, { submitsPerMinute: 5, activeJobs: 5 });
    await owners.countUpload('acme/ann', { submitsPerMinute: 5 }, noon);
    const { Items = [] } = await dynamo.client.send(new ScanCommand({ TableName }));
    const minute = { N: `${noon / minuteMs}` };
    const readBefore = Items.map((item) => [item['minute'], item['inMinute'], item['day'], item['inDay']]);
    expect(readBefore).toEqual([1, 2].map(() => [minute, { N: '1' }, { N: '0' }, { N: '0' }]));
  });
});
