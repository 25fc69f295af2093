import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OwnerStore, UploadCounter } from '../../lambdas/domain/ports.ts';
import { DynamoOwnerStore } from '../../lambdas/store/dynamo-owner-store.ts';
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
])('%s', (_, create) => {
  let owners: OwnerStore & UploadCounter;
  beforeEach(async () => {
    owners = await create();
  });

  const count = (now: number, { owner = 'acme/ann', lane = 'default', virtualTime = 0, perMinute = 1_000 } = {}) =>
    owners.count(owner, lane, virtualTime, { submitsPerMinute: perMinute }, now);

  it('ranks an owner after the lane and after their own last one, in each lane by itself', async () => {
    expect(await count(noon)).toEqual({ kind: 'counted', rank: 1, submitsToday: 1 });
    expect(await count(noon)).toEqual({ kind: 'counted', rank: 2, submitsToday: 2 });
    expect(await count(noon, { virtualTime: 40 })).toMatchObject({ rank: 41 });
    expect(await count(noon, { virtualTime: 41 })).toMatchObject({ rank: 42 });
    expect(await count(noon, { virtualTime: 7 })).toMatchObject({ rank: 43 });
    expect(await count(noon, { lane: 'other', virtualTime: 3 })).toMatchObject({ rank: 4, submitsToday: 6 });
    expect(await count(noon, { owner: 'acme/bob' })).toMatchObject({ rank: 1, submitsToday: 1 });
  });

  it('gives simultaneous submits of one owner a rank each', async () => {
    const counted = await Promise.all(Array.from({ length: 50 }, () => count(noon, { virtualTime: 10 })));
    const ranks = counted.flatMap((one) => (one.kind === 'counted' ? [one.rank] : []));
    expect(ranks.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (__, index) => 11 + index));
    expect(await count(noon)).toEqual({ kind: 'counted', rank: 61, submitsToday: 51 });
  });

  it('limits the submits of a minute, exactly, of many at once', async () => {
    const counted = await Promise.all(Array.from({ length: 50 }, () => count(noon + 15_000, { perMinute: 7 })));
    expect(counted.filter(({ kind }) => kind === 'counted')).toHaveLength(7);
    const limited = counted.filter(({ kind }) => kind === 'limited');
    expect(limited).toHaveLength(43);
    expect(limited[0]).toEqual({ kind: 'limited', retryAfterMs: 45_000 });
    expect(await count(noon + minuteMs, { perMinute: 7 })).toEqual({ kind: 'counted', rank: 8, submitsToday: 8 });
  });

  it('counts the submits of a day over its minutes, and begins anew with the next', async () => {
    for (const minute of [0, 1, 1, 5]) await count(noon + minute * minuteMs);
    expect(await count(noon + 6 * minuteMs)).toMatchObject({ submitsToday: 5 });
    expect(await count(noon + dayMs)).toMatchObject({ submitsToday: 1, rank: 6 });
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
    expect(await count(noon + 15_000, { perMinute: 2 })).toMatchObject({ kind: 'counted', submitsToday: 2 });
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
    await owners.count('acme/ann', 'default', 0, { submitsPerMinute: 100 }, noon);
    let sent = 0;
    dynamo.client.middlewareStack.add(
      (next) => async (args) => {
        sent += 1;
        return next(args);
      },
      { step: 'initialize', name: 'countSent' },
    );
    await Promise.all(
      Array.from({ length: 50 }, () => owners.count('acme/ann', 'default', 0, { submitsPerMinute: 100 }, noon)),
    );
    dynamo.client.middlewareStack.remove('countSent');
    expect(sent).toBe(50);
  });
});
