import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Job } from '../../lambdas/domain/job.ts';
import { move } from '../../lambdas/domain/lifecycle.ts';
import { activeShards, type JobIndex, type JobStore, type Page } from '../../lambdas/domain/ports.ts';
import { DynamoJobIndex } from '../../lambdas/store/dynamo-job-index.ts';
import { DynamoJobStore } from '../../lambdas/store/dynamo-job-store.ts';
import { DynamoOwnerStore } from '../../lambdas/store/dynamo-owner-store.ts';
import { DynamoUploadStore } from '../../lambdas/store/dynamo-upload-store.ts';
import { itemOf } from '../../lambdas/store/item.ts';
import { shardOf } from '../../lambdas/store/shard.ts';
import { MemoryJobIndex } from '../fakes/memory-job-index.ts';
import { MemoryJobStore } from '../fakes/memory-job-store.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';
import { noon, storedJob } from '../fixtures/stored-job.ts';

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

interface Subject {
  readonly jobs: JobStore;
  readonly index: JobIndex;
  readonly put: (job: Job) => Promise<void>;
  /** Puts items of other kinds beside the jobs, where there are items. */
  readonly putOthers: (owner: string) => Promise<void>;
}

async function memory(): Promise<Subject> {
  const jobs = new MemoryJobStore();
  return { jobs, index: new MemoryJobIndex(jobs), put: async (job) => jobs.put(job), putOthers: async () => {} };
}

async function dynamoDb(): Promise<Subject> {
  const { client } = dynamo;
  const TableName = await dynamo.createTable();
  return {
    jobs: new DynamoJobStore(client, TableName),
    index: new DynamoJobIndex(client, TableName),
    put: async (job) => {
      await client.send(new PutItemCommand({ TableName, Item: itemOf(job) }));
    },
    putOthers: async (owner) => {
      const submit = { owner, jobId: 'job_other', lane: 'default', virtualTime: 0, now: noon };
      await new DynamoOwnerStore(client, TableName).count(submit, { activeJobs: 1, submitsPerMinute: 1 });
      const about = { contentType: 'image/png', bytes: 1, sha256: undefined, createdAt: noon, expiresAt: noon };
      await new DynamoUploadStore(client, TableName).put({ id: 'upload-1', owner, ...about });
    },
  };
}

/** Everything, page by page. */
async function all<T>(page: (cursor: string | undefined) => Promise<Page<T>>): Promise<readonly T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const { items: more, next } = await page(cursor);
    items.push(...more);
    cursor = next;
  } while (cursor !== undefined);
  return items;
}

describe.each([
  ['MemoryJobIndex', memory],
  ['DynamoJobIndex', dynamoDb],
])('%s', (_, create) => {
  let subject: Subject;
  beforeEach(async () => {
    subject = await create();
  });

  async function dueIds(until = Number.MAX_SAFE_INTEGER): Promise<readonly string[]> {
    const shards = Array.from({ length: activeShards }, (__, shard) => shard);
    const found = await Promise.all(shards.map((shard) => all((cursor) => subject.index.due(shard, until, cursor, 3))));
    return found
      .flat()
      .map(({ id }) => id)
      .toSorted();
  }

  const flaggedIds = async (limit = 9) =>
    (await all((cursor) => subject.index.flagged('default', cursor, limit))).map(({ id }) => id);

  it('has the waiting jobs of a lane, lowest rank first, and counts them', async () => {
    for (const rank of [7, 3, 12, 5]) await subject.put(storedJob('queued', { id: `job_${rank}`, rank }));
    await subject.put(storedJob('queued', { id: 'job_other', rank: 1, lane: 'other' }));
    await subject.put(storedJob('running', { id: 'job_running', rank: 1 }));
    expect(await subject.index.queued('default', 3)).toEqual(['job_3', 'job_5', 'job_7']);
    expect(await subject.index.countQueued('default')).toBe(4);
    expect(await subject.index.countQueued('nowhere')).toBe(0);
    expect(await subject.index.countAhead('default', 7, 100)).toBe(2);
    expect(await subject.index.countAhead('default', 7, 1)).toBe(1);
    expect(await subject.index.countAhead('default', 3, 100)).toBe(0);
  });

  it('has what is due of a shard, oldest first, page by page', async () => {
    const ids = Array.from({ length: 60 }, (__, index) => `job_${index}`);
    for (const [index, id] of ids.entries()) await subject.put(storedJob('running', { id, checkAt: noon + index }));
    for (let shard = 0; shard < activeShards; shard += 1) {
      const due = await all((cursor) => subject.index.due(shard, noon + 40, cursor, 2));
      const expected = ids.slice(0, 41).map((id, index) => ({ id, checkAt: noon + index }));
      expect(due).toEqual(expected.filter(({ id }) => shardOf(id) === shard));
      expect(due.length).toBeGreaterThan(0);
    }
  });

  it('follows a job through its life', async () => {
    const { jobs, index } = subject;
    const queued = storedJob('queued');
    await jobs.create(queued);
    expect(await index.queued('default', 9)).toEqual(['job_a']);
    expect(await dueIds()).toEqual(['job_a']);

    const { hold, claimToken, sendBy, dispatchBy } = storedJob('dispatching');
    const times = { sendBy, dispatchBy, checkAt: noon, firstTriedAt: noon, startedAt: noon };
    const claimed = await jobs.move(move('claim', queued, { hold, claimToken, ...times, sends: 1, tries: 1 }));
    if (claimed.kind !== 'moved') throw new Error('The job could not be claimed.');
    expect(await index.queued('default', 9)).toEqual([]);
    expect(await index.flagged('default', undefined, 9)).toMatchObject({ items: [] });

    const flag = { code: 'unknown_send', since: noon + 1 } as const;
    const flagged = await jobs.move(move('flagUnknown', claimed.job, { flag, maybeSent: true, checkAt: noon }));
    if (flagged.kind !== 'moved') throw new Error('The job could not be flagged.');
    expect(await flaggedIds()).toEqual(['job_a']);

    const end = { finishedAt: noon + 2, ttl: noon / 1000, checkAt: noon };
    const failure = { code: 'failed_by_operator', message: 'Stopped by us.' };
    const failed = await jobs.move(move('failByOperator', flagged.job, { ...end, failure }));
    if (failed.kind !== 'moved') throw new Error('The job could not be failed.');
    expect(await flaggedIds()).toEqual(['job_a']);

    await jobs.move(move('announced', failed.job, {}));
    expect(await dueIds()).toEqual(['job_a']);
    const unannounced = { ...failed.job, announce: undefined };
    const unbound = await jobs.move(move('unbind', unannounced, { checkAt: noon }));
    expect(unbound).toMatchObject({ kind: 'moved' });
    expect(await dueIds()).toEqual([]);
    expect(await flaggedIds()).toEqual([]);
    expect(await all((cursor) => index.ofOwner(queued.owner, undefined, cursor, 9))).toEqual(['job_a']);
  });

  it('forgets an ended job with its announcement', async () => {
    const { jobs } = subject;
    const ended = storedJob('succeeded');
    await subject.put(ended);
    expect(await dueIds()).toEqual(['job_a']);
    await jobs.move(move('announced', ended, {}));
    expect(await dueIds()).toEqual([]);
  });

  it('forgets, at the next look at the latest, what was unbound while its event was sent', async () => {
    const { jobs } = subject;
    const failed = storedJob('failed', { hold: { token: 'hold-1' } });
    await subject.put(failed);
    // Read with hold and announcement; by the time of each write the other one is gone.
    await jobs.move(move('unbind', failed, { checkAt: noon }));
    await jobs.move(move('announced', failed, {}));
    const read = await jobs.read(failed.id);
    if (read?.kind !== 'job') throw new Error('The job is not there.');
    await jobs.move(move('look', read.job, { checkAt: noon + 1 }));
    expect(await dueIds()).toEqual([]);
  });

  it('has the flagged jobs of a lane, oldest flag first', async () => {
    for (const since of [30, 10, 20]) {
      const flag = { code: 'overdue', since: noon + since } as const;
      await subject.put(storedJob('needs_attention', { id: `job_${since}`, flag }));
    }
    await subject.put(storedJob('needs_attention', { id: 'job_other', lane: 'other' }));
    await subject.put(storedJob('running', { id: 'job_running' }));
    expect(await flaggedIds(1)).toEqual(['job_10', 'job_20', 'job_30']);
  });

  it('goes on after any of them, whether it still waits or not', async () => {
    const { index } = subject;
    for (const [nth, since] of [10, 20, 20, 20, 30].entries()) {
      const flag = { code: 'overdue', since: noon + since } as const;
      await subject.put(storedJob('needs_attention', { id: `job_${nth}`, flag }));
    }
    const { items } = await index.flagged('default', undefined, 9);
    expect(items.map(({ since }) => since - noon)).toEqual([10, 20, 20, 20, 30]);
    for (const [nth, { id, cursor }] of items.entries()) {
      await subject.put(storedJob('running', { id }));
      const rest = await index.flagged('default', cursor, 9);
      expect(rest.items).toEqual(items.slice(nth + 1));
    }
  });

  it('tells in few characters where the flagged go on, since a list over many lanes tells it of each', async () => {
    const id = `job_${'x'.repeat(52)}`;
    await subject.put(storedJob('needs_attention', { id, flag: { code: 'overdue', since: noon } }));
    const { items } = await subject.index.flagged('default', undefined, 9);
    expect(items[0]?.cursor.length).toBeLessThanOrEqual(80);
  });

  it('shows the flagged jobs of a lane as they were a moment ago', async () => {
    const flagged = [1, 2, 3].map((nth) =>
      storedJob('needs_attention', { id: `job_${nth}`, flag: { code: 'overdue', since: noon + nth } }),
    );
    for (const job of flagged) await subject.put(job);
    await subject.put(storedJob('running', { id: 'job_running' }));
    const glanced = await all((cursor) => subject.index.glanceFlagged('default', cursor, 2));
    expect(glanced.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(flagged);
  });

  it("has an owner's jobs, newest first, and nothing else of that owner", async () => {
    const owner = 'acme%20inc/ann';
    for (const [index, state] of (['queued', 'succeeded', 'running', 'failed', 'queued'] as const).entries()) {
      await subject.put(storedJob(state, { id: `job_${index}`, owner, createdAt: noon + index }));
    }
    await subject.put(storedJob('queued', { id: 'job_bob', owner: 'acme%20inc/bob' }));
    await subject.putOthers(owner);
    const { index } = subject;
    const everything = await all((cursor) => index.ofOwner(owner, undefined, cursor, 2));
    expect(everything).toEqual(['job_4', 'job_3', 'job_2', 'job_1', 'job_0']);
    const ended = await all((cursor) => index.ofOwner(owner, ['succeeded', 'failed'], cursor, 2));
    expect(ended).toEqual(['job_3', 'job_1']);
    expect(await all((cursor) => index.ofOwner('acme/nobody', ['queued'], cursor, 2))).toEqual([]);
  });

  it('forgets an erased job', async () => {
    const ended = storedJob('succeeded', { announce: undefined });
    await subject.put(ended);
    await subject.jobs.erase(ended, noon);
    expect(await all((cursor) => subject.index.ofOwner(ended.owner, undefined, cursor, 9))).toEqual([]);
    expect(await dueIds()).toEqual([]);
  });
});

describe('MemoryJobIndex', () => {
  it('is behind by as many writes as it is told, and never goes back', async () => {
    const jobs = new MemoryJobStore();
    const index = new MemoryJobIndex(jobs);
    jobs.put(storedJob('queued', { id: 'job_1', rank: 1 }));
    index.lagWrites = 1;
    jobs.put(storedJob('queued', { id: 'job_2', rank: 2 }));
    expect(await index.queued('default', 9)).toEqual(['job_1']);
    index.lagWrites = Number.POSITIVE_INFINITY;
    jobs.put(storedJob('running', { id: 'job_1' }));
    expect(await index.queued('default', 9)).toEqual(['job_1']);
    index.lagWrites = 0;
    expect(await index.queued('default', 9)).toEqual(['job_2']);
  });
});
