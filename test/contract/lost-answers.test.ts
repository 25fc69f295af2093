import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { move } from '../../lambdas/domain/lifecycle.ts';
import { createDynamo } from '../../lambdas/store/dynamo.ts';
import { DynamoJobStore } from '../../lambdas/store/dynamo-job-store.ts';
import { DynamoLaneStore } from '../../lambdas/store/dynamo-lane-store.ts';
import { DynamoOwnerStore } from '../../lambdas/store/dynamo-owner-store.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';
import { startLossyProxy, type LossyProxy } from '../fixtures/lossy-proxy.ts';
import { noon, storedJob } from '../fixtures/stored-job.ts';

/**
 * The SDK repeats a write whose answer was lost. The repetition meets our own success, and must not be taken for
 * somebody else's: a submit would answer "exists" for its own job, a worker would free the hold of its own claim.
 */

let dynamo: DynamoFixture;
let proxy: LossyProxy;
let client: DynamoDBClient;
let table: string;
beforeAll(async () => {
  dynamo = await startDynamo();
  proxy = await startLossyProxy(dynamo.endpoint);
  client = createDynamo({
    endpoint: proxy.endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
});
afterAll(async () => {
  client.destroy();
  await proxy.stop();
  await dynamo.stop();
});

let before: number;
beforeEach(async () => {
  table = await dynamo.createTable();
  before = proxy.requests;
});
/** Each test must have seen its write repeated, or it would prove nothing. */
let writes = 2;
afterEach(() => {
  expect(proxy.requests - before).toBeGreaterThanOrEqual(writes);
  writes = 2;
});

describe('a write whose answer was lost', () => {
  it('creates the job, as its own', async () => {
    const jobs = new DynamoJobStore(client, table);
    proxy.loseAnswers(1);
    expect(await jobs.create(storedJob('queued'))).toEqual({ kind: 'created' });
  });

  it('is still somebody else’s where somebody else was first', async () => {
    const jobs = new DynamoJobStore(client, table);
    const winner = storedJob('queued', { submitToken: 'submit-0' });
    await jobs.create(winner);
    proxy.loseAnswers(1);
    const found = { kind: 'job', job: winner };
    expect(await jobs.create(storedJob('queued'))).toEqual({ kind: 'exists', found });
  });

  const { hold, claimToken, sendBy, dispatchBy } = storedJob('dispatching');
  const times = { sendBy, dispatchBy, checkAt: noon };
  const claim = { ...times, hold, claimToken, sends: 1, tries: 1, firstTriedAt: noon, startedAt: noon };

  it('claims the job, as its own', async () => {
    const jobs = new DynamoJobStore(client, table);
    const queued = storedJob('queued');
    await jobs.create(queued);
    proxy.loseAnswers(1);
    const claimed = await jobs.move(move('claim', queued, claim));
    expect(claimed).toMatchObject({
      kind: 'moved',
      unbound: undefined,
      job: { state: 'dispatching', attempt: queued.attempt + 1, version: queued.version + 1, claimToken, hold },
    });
  });

  it('does not claim what another claimed before', async () => {
    const jobs = new DynamoJobStore(client, table);
    const queued = storedJob('queued');
    await jobs.create(queued);
    await jobs.move(move('claim', queued, { ...claim, claimToken: 'of another' }));
    proxy.loseAnswers(1);
    const refused = await jobs.move(move('claim', queued, claim));
    expect(refused).toMatchObject({ kind: 'refused', actual: { claimToken: 'of another' } });
  });

  it('is a refusal, bearing our token, where the job moved on in between', async () => {
    const jobs = new DynamoJobStore(client, table);
    const direct = new DynamoJobStore(dynamo.client, table);
    const queued = storedJob('queued');
    await direct.create(queued);
    const first = await direct.move(move('claim', queued, claim));
    if (first.kind !== 'moved') throw new Error('The job could not be claimed.');
    await direct.move(move('release', first.job, { checkAt: noon }));
    const release = await direct.read(queued.id);
    if (release?.kind !== 'job' || release.job.state !== 'queued') throw new Error('The job was not released.');
    await direct.move(move('claim', release.job, claim));
    proxy.loseAnswers(1);
    const late = await jobs.move(move('claim', queued, claim));
    expect(late).toMatchObject({ kind: 'refused', actual: { claimToken, state: 'dispatching', attempt: 3 } });
  });

  it('retakes the job, as its own', async () => {
    const jobs = new DynamoJobStore(client, table);
    const queued = storedJob('queued');
    await jobs.create(queued);
    const claimed = await jobs.move(move('claim', queued, claim));
    if (claimed.kind !== 'moved') throw new Error('The job could not be claimed.');
    proxy.loseAnswers(1);
    const again = { ...times, claimToken: 'claim-2', sends: 2, tries: 2, maybeSent: true };
    expect(await jobs.move(move('retake', claimed.job, again))).toMatchObject({
      kind: 'moved',
      job: { claimToken: 'claim-2', attempt: 2, maybeSent: true },
    });
  });

  it('holds a unit of the lane, as its own, the last one too', async () => {
    const lanes = new DynamoLaneStore(client, table, { default: 1 });
    const since = (await lanes.read('default')).since;
    proxy.loseAnswers(1);
    const unit = { jobId: 'job_a', attempt: 1, acquiredAt: noon };
    expect(await lanes.hold('default', 'hold-1', unit, 5)).toEqual({ kind: 'held', probing: false, since });
    expect(await lanes.hold('default', 'hold-2', unit, 5)).toEqual({ kind: 'full' });
    expect((await lanes.read('default')).held).toEqual({ 'hold-1': unit });
  });

  it('is the probe of a tripped lane, as its own', async () => {
    const lanes = new DynamoLaneStore(client, table, { default: 2 });
    const { since } = await lanes.read('default');
    await lanes.trip('default', since, { by: 'worker', reason: 'key refused', at: noon });
    const unit = { jobId: 'job_a', attempt: 1, acquiredAt: noon + 60_000 };
    const tripped = await lanes.read('default');
    proxy.loseAnswers(2);
    const probe = { kind: 'held', probing: true, since: tripped.since };
    expect(await lanes.hold('default', 'hold-1', unit, 5)).toEqual(probe);
  });

  it('trips and changes the lane, as its own', async () => {
    const lanes = new DynamoLaneStore(client, table, { default: 2 });
    const { since } = await lanes.read('default');
    proxy.loseAnswers(1);
    expect(await lanes.trip('default', since, { by: 'worker', reason: 'key refused', at: noon })).toBe('tripped');
    const open = { state: 'open', by: 'ann', reason: 'key renewed', at: noon + 5 } as const;
    proxy.loseAnswers(2);
    expect(await lanes.change('default', noon, open)).toMatchObject({
      kind: 'changed',
      lane: { state: 'open', since: noon + 5, closedMs: 5 },
    });
  });

  it('over-counts a submit at most by one', async () => {
    const owners = new DynamoOwnerStore(client, table);
    const limits = { activeJobs: 2, submitsPerMinute: 10 };
    const submit = { owner: 'acme/ann', lane: 'default', virtualTime: 0, now: noon };
    await owners.count({ ...submit, jobId: 'job_a' }, limits);
    proxy.loseAnswers(1);
    expect(await owners.count({ ...submit, jobId: 'job_b' }, limits)).toEqual({ kind: 'counted', rank: 3 });
  });
});

it('throws where the connection is lost again and again', async () => {
  const jobs = new DynamoJobStore(client, table);
  proxy.loseAnswers(1, 2, 3);
  await expect(jobs.read('job_a')).rejects.toThrow();
});

it('gives a silent server up', { timeout: 30_000 }, async () => {
  writes = 0;
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const patient = createDynamo({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  await expect(new DynamoJobStore(patient, table).read('job_a')).rejects.toMatchObject({ name: 'TimeoutError' });
  patient.destroy();
  silent.close();
});
