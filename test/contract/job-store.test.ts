import { GetItemCommand, PutItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Job, JobRequest } from '../../lambdas/domain/job.ts';
import { move } from '../../lambdas/domain/lifecycle.ts';
import type { JobStore } from '../../lambdas/domain/ports.ts';
import { DynamoEvidenceStore } from '../../lambdas/store/dynamo-evidence-store.ts';
import { DynamoJobStore } from '../../lambdas/store/dynamo-job-store.ts';
import { itemOf } from '../../lambdas/store/item.ts';
import { MemoryDynamo } from '../fakes/memory-dynamo.ts';
import { MemoryEvidenceStore } from '../fakes/memory-evidence-store.ts';
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
  readonly evidence: Pick<DynamoEvidenceStore, 'add' | 'read'>;
}

async function memory(): Promise<Subject> {
  const jobs = new MemoryJobStore();
  const evidence = new MemoryEvidenceStore();
  jobs.whenSiblingsAreErased((id) => evidence.erase(id));
  return { jobs, evidence };
}

async function dynamoDb(): Promise<Subject> {
  return over(dynamo.client, await dynamo.createTable());
}

async function inProcess(): Promise<Subject> {
  const { client, tableName } = new MemoryDynamo();
  return over(client, tableName);
}

function over(client: DynamoDBClient, tableName: string): Subject {
  return {
    jobs: new DynamoJobStore(client, tableName),
    evidence: new DynamoEvidenceStore(client, tableName, 400 * 86_400_000),
  };
}

const keptUntil = noon + 60 * 86_400_000;
const request: JobRequest = {
  parameters: { scale: 4, seed: 1e-200, prompt: '', nested: { list: [null, true, 'x'] } },
  metadata: { screen: 'gallery' },
  consent: { by: 'ann', at: noon },
};

describe.each([
  ['MemoryJobStore', memory],
  ['DynamoJobStore', dynamoDb],
  ['DynamoJobStore over MemoryDynamo', inProcess],
])('%s', (_, createSubject) => {
  let jobs: JobStore;
  let evidence: Subject['evidence'];
  beforeEach(async () => {
    ({ jobs, evidence } = await createSubject());
  });

  /** A job of this id that was claimed and canceled at the vendor: terminal, and without a hold. */
  async function endedJob(id = 'job_a'): Promise<Job> {
    const queued = storedJob('queued', { id });
    await jobs.create(queued);
    const { hold, claimToken, sendBy, dispatchBy } = storedJob('dispatching');
    const claim = { hold, claimToken, sendBy, dispatchBy, sends: 1, tries: 1, checkAt: noon, firstTriedAt: noon };
    const claimed = await jobs.move(move('claim', queued, { ...claim, startedAt: noon }));
    if (claimed.kind !== 'moved') throw new Error('The job could not be claimed.');
    const end = { finishedAt: noon + 9, ttl: noon / 1000, checkAt: noon };
    const ended = await jobs.move(move('cancelAtVendor', claimed.job, end));
    if (ended.kind !== 'moved') throw new Error('The job could not be ended.');
    return ended.job;
  }

  describe('create', () => {
    it('keeps the job as it was given', async () => {
      const job = storedJob('queued', { owner: 'acme%20%2F%20inc/ann%40b%25%2F%C3%A9%20' });
      expect(await jobs.read(job.id)).toBeUndefined();
      expect(await jobs.create(job)).toEqual({ kind: 'created' });
      expect(await jobs.read(job.id)).toEqual({ kind: 'job', job });
    });

    it('gives the loser of a race the job of the winner', async () => {
      const contenders = Array.from({ length: 10 }, (__, index) =>
        storedJob('queued', { submitToken: `submit-${index}` }),
      );
      const created = await Promise.all(contenders.map((job) => jobs.create(job)));
      expect(created.filter(({ kind }) => kind === 'created')).toHaveLength(1);
      const winner = contenders[created.findIndex(({ kind }) => kind === 'created')];
      for (const outcome of created) {
        if (outcome.kind === 'exists') expect(outcome.found).toEqual({ kind: 'job', job: winner });
      }
    });

    it('takes its own put, sent twice, for its own, however far the job has come', async () => {
      const job = storedJob('queued');
      await jobs.create(job);
      await jobs.move(move('cancelQueued', job, { finishedAt: noon, ttl: noon / 1000, checkAt: noon }));
      expect(await jobs.create(job)).toEqual({ kind: 'created' });
      expect(await jobs.read(job.id)).toMatchObject({ job: { state: 'canceled' } });
    });

    it('says that the job of a key was erased', async () => {
      const job = await endedJob();
      await jobs.erase(job, noon + 100);
      expect(await jobs.create(storedJob('queued', { submitToken: 'submit-2' }))).toEqual({
        kind: 'exists',
        found: { kind: 'erased', tombstone: { id: job.id, owner: job.owner, erasedAt: noon + 100 } },
      });
    });
  });

  describe('claims', () => {
    it('lets one of many claims win, and tells the others what it made', async () => {
      const job = storedJob('queued');
      await jobs.create(job);
      const { hold, claimToken, ...times } = storedJob('dispatching');
      const claims = Array.from({ length: 10 }, (__, index) => `claim-${index}`).map((token) =>
        jobs.move(
          move('claim', job, {
            hold: { token: `hold of ${token}` },
            claimToken: token,
            sendBy: times.sendBy,
            dispatchBy: times.dispatchBy,
            sends: 1,
            tries: 1,
            checkAt: noon,
            firstTriedAt: noon,
            startedAt: noon,
          }),
        ),
      );
      const outcomes = await Promise.all(claims);
      const won = outcomes.filter(({ kind }) => kind === 'moved');
      expect(won).toHaveLength(1);
      const actual = won[0]!.kind === 'moved' ? won[0]!.job : undefined;
      for (const lost of outcomes.filter(({ kind }) => kind === 'refused')) {
        expect(lost).toEqual({ kind: 'refused', actual });
      }
      expect(hold.token).not.toBe(claimToken);
    });
  });

  describe('requests', () => {
    it('keeps what each submit said beside the job, exactly', async () => {
      await jobs.putRequest('job_a', 'submit-1', request, keptUntil);
      const bare = { parameters: {}, metadata: undefined, consent: undefined };
      await jobs.putRequest('job_a', 'submit-2', bare, keptUntil);
      expect(await jobs.readRequest('job_a', 'submit-1')).toEqual(request);
      expect(await jobs.readRequest('job_a', 'submit-2')).toEqual(bare);
      await jobs.deleteRequest('job_a', 'submit-1');
      await jobs.deleteRequest('job_a', 'submit-1');
      expect(await jobs.readRequest('job_a', 'submit-1')).toBeUndefined();
      expect(await jobs.readRequest('job_a', 'submit-2')).toEqual(bare);
    });
  });

  describe('vendor jobs', () => {
    it('belong to the first job and generation that names them', async () => {
      expect(await jobs.vendorJobOwner('studio', 'v1')).toBeUndefined();
      expect(await jobs.linkVendorJob('studio', 'v1', 'job_a', 1, keptUntil)).toEqual({ kind: 'linked', isNew: true });
      expect(await jobs.linkVendorJob('studio', 'v1', 'job_a', 1, keptUntil)).toEqual({ kind: 'linked', isNew: false });
      const owned = { kind: 'owned', jobId: 'job_a', generation: 1 };
      expect(await jobs.linkVendorJob('studio', 'v1', 'job_b', 1, keptUntil)).toEqual(owned);
      expect(await jobs.linkVendorJob('studio', 'v1', 'job_a', 2, keptUntil)).toEqual(owned);
      expect(await jobs.vendorJobOwner('studio', 'v1')).toEqual({ jobId: 'job_a', generation: 1 });
      expect(await jobs.linkVendorJob('other', 'v1', 'job_b', 1, keptUntil)).toEqual({ kind: 'linked', isNew: true });
    });
  });

  describe('followers', () => {
    it('get the snapshot with the update that adds them, without a new version', async () => {
      const job = storedJob('queued');
      await jobs.create(job);
      const followed = { kind: 'following', job: { ...job, followers: ['c1'] } };
      expect(await jobs.follow(job.id, job.owner, 'c1')).toEqual(followed);
      expect(await jobs.follow(job.id, job.owner, 'c1')).toEqual(followed);
      await jobs.unfollow(job.id, 'c2');
      await jobs.unfollow(job.id, 'c1');
      expect(await jobs.read(job.id)).toEqual({ kind: 'job', job });
    });

    it('are eight at most, of many at once', async () => {
      const job = storedJob('queued');
      await jobs.create(job);
      const names = Array.from({ length: 20 }, (__, index) => `connection-${index}`);
      const outcomes = await Promise.all(names.map((name) => jobs.follow(job.id, job.owner, name)));
      expect(outcomes.filter(({ kind }) => kind === 'following')).toHaveLength(8);
      expect(outcomes.filter(({ kind }) => kind === 'full')).toHaveLength(12);
      const read = await jobs.read(job.id);
      const followers = read?.kind === 'job' ? read.job.followers : [];
      expect(new Set(followers).size).toBe(8);
      expect(await jobs.follow(job.id, job.owner, followers[0]!)).toMatchObject({ kind: 'following' });
    });

    it("don't follow what is another's, erased, or was never there", async () => {
      const job = await endedJob();
      expect(await jobs.follow(job.id, 'acme/bob', 'c1')).toEqual({ kind: 'absent' });
      expect(await jobs.follow('job_x', job.owner, 'c1')).toEqual({ kind: 'absent' });
      await jobs.erase(job, noon);
      expect(await jobs.follow(job.id, job.owner, 'c1')).toEqual({ kind: 'absent' });
      await jobs.unfollow(job.id, 'c1');
      await jobs.unfollow('job_x', 'c1');
      expect(await jobs.read(job.id)).toMatchObject({ kind: 'erased' });
      expect(await jobs.read('job_x')).toBeUndefined();
    });
  });

  describe('erase', () => {
    it('leaves a tombstone of an ended job, once', async () => {
      const job = await endedJob();
      expect(await jobs.erase(job, noon + 1)).toBe('erased');
      expect(await jobs.erase(job, noon + 1)).toBe('erased');
      expect(await jobs.erase(job, noon + 2)).toBe('moved_on');
      const tombstone = { id: job.id, owner: job.owner, erasedAt: noon + 1 };
      expect(await jobs.read(job.id)).toEqual({ kind: 'erased', tombstone });
      expect(await jobs.move(move('look', job, { checkAt: noon }))).toEqual({ kind: 'refused', actual: undefined });
    });

    it('refuses a job that is not ended, still holds, or moved on', async () => {
      const queued = storedJob('queued');
      await jobs.create(queued);
      expect(await jobs.erase(queued, noon)).toBe('moved_on');
      const ended = await endedJob('job_b');
      expect(await jobs.erase({ ...ended, version: ended.version - 1 }, noon)).toBe('moved_on');
      expect(await jobs.erase(storedJob('succeeded', { id: 'job_x' }), noon)).toBe('moved_on');
      expect(await jobs.read('job_x')).toBeUndefined();
    });

    it("refuses a job that a person failed, as long as it can't be known to have stopped", async () => {
      const queued = storedJob('queued');
      await jobs.create(queued);
      const { hold, claimToken, sendBy, dispatchBy, flag } = {
        ...storedJob('needs_attention'),
        ...storedJob('dispatching'),
      };
      const times = { sendBy, dispatchBy, checkAt: noon, firstTriedAt: noon, startedAt: noon };
      const claimed = await jobs.move(move('claim', queued, { hold, claimToken, ...times, sends: 1, tries: 1 }));
      if (claimed.kind !== 'moved') throw new Error('The job could not be claimed.');
      expect(flag).toBeUndefined();
      const unknown = { code: 'unknown_send', since: noon } as const;
      const flagged = await jobs.move(
        move('flagUnknown', claimed.job, { flag: unknown, maybeSent: true, checkAt: noon }),
      );
      if (flagged.kind !== 'moved') throw new Error('The job could not be flagged.');
      const failure = { code: 'failed_by_operator', message: 'Stopped by us.' };
      const end = { finishedAt: noon, ttl: noon / 1000, checkAt: noon };
      const failed = await jobs.move(move('failByOperator', flagged.job, { ...end, failure }));
      if (failed.kind !== 'moved') throw new Error('The job could not be failed.');
      expect(failed.job.hold).toEqual(hold);
      expect(await jobs.erase(failed.job, noon)).toBe('moved_on');
      const unbound = await jobs.move(move('unbind', failed.job, { checkAt: noon }));
      expect(unbound).toMatchObject({ kind: 'moved', unbound: hold });
      if (unbound.kind === 'moved') expect(await jobs.erase(unbound.job, noon)).toBe('erased');
    });

    it('takes requests and evidence along, and nothing of another job', async () => {
      const about = { at: noon, attempt: 1, generation: 1, vendorKey: 'job_a.1', what: 'asked', detail: {} };
      for (let index = 0; index < 20; index += 1) {
        await jobs.putRequest('job_a', `submit-${index}`, request, keptUntil);
        await evidence.add('job_a', { ...about, at: noon + index });
      }
      await jobs.putRequest('job_b', 'submit-1', request, keptUntil);
      await evidence.add('job_b', about);
      expect(await jobs.eraseSiblings('job_a')).toBe(40);
      expect(await jobs.eraseSiblings('job_a')).toBe(0);
      expect(await jobs.readRequest('job_a', 'submit-3')).toBeUndefined();
      expect(await evidence.read('job_a')).toEqual([]);
      expect(await jobs.readRequest('job_b', 'submit-1')).toEqual(request);
      expect(await evidence.read('job_b')).toEqual([about]);
    });
  });
});

describe('DynamoJobStore', () => {
  it('keeps what is beside a job until it ended, or for its own time, and then as long as the job', async () => {
    const TableName = await dynamo.createTable();
    const jobs = new DynamoJobStore(dynamo.client, TableName);
    const ttlOf = async (pk: string, sk: string) => {
      const Key = { pk: { S: pk }, sk: { S: sk } };
      const { Item } = await dynamo.client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
      return Item?.['ttl']?.N;
    };
    const flagged = storedJob('needs_attention', { vendorJobId: 'v1', announce: 3 });
    const ended = storedJob('succeeded', { vendorJobId: 'v1' });
    await jobs.putRequest(ended.id, ended.submitToken, request, keptUntil);
    const linkedUntil = keptUntil + 86_400_000;
    await jobs.linkVendorJob(ended.vendor, 'v0', ended.id, ended.generation - 1, linkedUntil);
    await jobs.linkVendorJob(ended.vendor, 'v1', ended.id, ended.generation, linkedUntil);
    for (const job of [flagged, ended]) {
      await dynamo.client.send(new PutItemCommand({ TableName, Item: itemOf(job) }));
      expect(await jobs.move(move('announced', job, {}))).toMatchObject({ kind: 'moved' });
      const ttl = job === ended ? `${ended.ttl}` : undefined;
      expect(await ttlOf(job.id, `request#${job.submitToken}`)).toBe(ttl ?? `${keptUntil / 1000}`);
      expect(await ttlOf(`vendor-job#${job.vendor}#v1`, 'link')).toBe(ttl ?? `${linkedUntil / 1000}`);
      // Of an older generation, which the job has forgotten.
      expect(await ttlOf(`vendor-job#${job.vendor}#v0`, 'link')).toBe(`${linkedUntil / 1000}`);
    }
    expect(await jobs.readRequest(ended.id, ended.submitToken)).toEqual(request);
  });

  it('makes no item of what is gone', async () => {
    const TableName = await dynamo.createTable();
    const jobs = new DynamoJobStore(dynamo.client, TableName);
    const ended = storedJob('succeeded');
    await dynamo.client.send(new PutItemCommand({ TableName, Item: itemOf(ended) }));
    await jobs.move(move('announced', ended, {}));
    expect(await jobs.eraseSiblings(ended.id)).toBe(0);
    expect(await jobs.vendorJobOwner(ended.vendor, 'vendor-job-1')).toBeUndefined();
  });
});
