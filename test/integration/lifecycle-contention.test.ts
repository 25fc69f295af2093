import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Job } from '../../lambdas/domain/job.ts';
import { move } from '../../lambdas/domain/lifecycle.ts';
import { DynamoJobIndex } from '../../lambdas/store/dynamo-job-index.ts';
import { DynamoJobStore } from '../../lambdas/store/dynamo-job-store.ts';
import { DynamoLaneStore } from '../../lambdas/store/dynamo-lane-store.ts';
import { DynamoOwnerStore } from '../../lambdas/store/dynamo-owner-store.ts';
import { CountingTokens } from '../fakes/counting-tokens.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';
import { noon, storedJob } from '../fixtures/stored-job.ts';

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

const cap = 3;
const workers = 9;
const jobCount = 40;

/** Many workers and one lane over the real stores: hold, claim, run, end, free, until nothing waits. */
it('runs each job once, never more at a time than the cap, however many workers ask', { timeout: 60_000 }, async () => {
  const table = await dynamo.createTable();
  const jobs = new DynamoJobStore(dynamo.client, table);
  const index = new DynamoJobIndex(dynamo.client, table);
  const lanes = new DynamoLaneStore(dynamo.client, table, { default: cap });
  const owners = new DynamoOwnerStore(dynamo.client, table);
  const tokens = new CountingTokens();
  const runs = new Map<string, number>();
  let running = 0;
  let mostRunning = 0;

  async function submit(number: number): Promise<void> {
    const owner = `acme/user-${number % 4}`;
    const { virtualTime } = await lanes.glance('default');
    const id = `job_${number}`;
    const submit = { owner, jobId: id, lane: 'default', virtualTime, now: noon };
    const counted = await owners.count(submit, { activeJobs: 100, submitsPerMinute: 100 });
    if (counted.kind !== 'counted') throw new Error('A submit was limited.');
    await jobs.create(storedJob('queued', { id, owner, rank: counted.rank }));
  }

  async function claim(job: Job, token: string): Promise<Job<'dispatching'> | undefined> {
    if (job.state !== 'queued') return undefined;
    const times = { sendBy: noon, dispatchBy: noon, checkAt: noon, firstTriedAt: noon, startedAt: noon };
    const change = { ...times, hold: { token }, claimToken: token, sends: 1, tries: 1 };
    const claimed = await jobs.move(move('claim', job, change));
    return claimed.kind === 'moved' ? claimed.job : undefined;
  }

  async function runOne(id: string): Promise<void> {
    const read = await jobs.read(id);
    if (read?.kind !== 'job' || read.job.state !== 'queued') return;
    const token = tokens.next();
    const unit = { jobId: id, attempt: read.job.attempt + 1, acquiredAt: noon };
    const held = await lanes.hold('default', token, unit, read.job.rank);
    if (held.kind !== 'held') return;
    const claimed = await claim(read.job, token);
    if (claimed === undefined) {
      await lanes.free('default', token);
      return;
    }
    running += 1;
    mostRunning = Math.max(mostRunning, running);
    runs.set(id, (runs.get(id) ?? 0) + 1);
    const { held: units } = await lanes.read('default');
    expect(Object.keys(units).length).toBeLessThanOrEqual(cap);
    running -= 1;
    const ended = await jobs.move(
      move('cancelAtVendor', claimed, { finishedAt: noon, ttl: noon / 1000, checkAt: noon }),
    );
    if (ended.kind !== 'moved' || ended.unbound === undefined) throw new Error('A job of ours could not be ended.');
    await lanes.free('default', ended.unbound.token);
  }

  async function work(): Promise<void> {
    for (;;) {
      const waiting = await index.queued('default', workers);
      if (waiting.length === 0) return;
      for (const id of waiting) await runOne(id);
    }
  }

  await Promise.all(Array.from({ length: jobCount }, (_, number) => submit(number)));
  await Promise.all(Array.from({ length: workers }, work));

  expect([...runs.values()]).toEqual(Array.from({ length: jobCount }, () => 1));
  expect(mostRunning).toBeLessThanOrEqual(cap);
  expect(mostRunning).toBeGreaterThan(1);
  expect((await lanes.read('default')).held).toEqual({});
});
