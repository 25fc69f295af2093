import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isTerminal, type Job } from '../../lambdas/domain/job.ts';
import {
  isActive,
  rowOf,
  transitions,
  wantsAttention,
  type AnyMove,
  type Move,
  type Transition,
} from '../../lambdas/domain/lifecycle.ts';
import { activeShards, type JobIndex } from '../../lambdas/domain/ports.ts';
import { DynamoJobIndex } from '../../lambdas/store/dynamo-job-index.ts';
import { DynamoJobStore } from '../../lambdas/store/dynamo-job-store.ts';
import { MemoryJobStore } from '../fakes/memory-job-store.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';
import { changeOf } from '../fixtures/every-move.ts';
import { Seeded } from '../fixtures/seeded.ts';
import { noon, storedJob } from '../fixtures/stored-job.ts';

/** Histories that nobody thought of: random moves, decided from reads of any age, on both stores at once. */

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

const jobsInPlay = 12;
const steps = 900;

describe.each([1, 2, 3])('a random history, seed %i', (seed) => {
  it('is one and the same on DynamoDB and in memory, and in the indexes', { timeout: 60_000 }, async () => {
    const random = new Seeded(seed);
    const table = await dynamo.createTable();
    const real = new DynamoJobStore(dynamo.client, table);
    const fake = new MemoryJobStore();
    const ids = Array.from({ length: jobsInPlay }, (_, index) => `job_${index}`);
    const reads = new Map<string, Job[]>();
    for (const id of ids) {
      const job = storedJob('queued', { id });
      await Promise.all([real.create(job), fake.create(job)]);
      reads.set(id, [job]);
    }

    const taken = new Set<Transition>();
    for (let step = 0; step < steps; step += 1) {
      const id = random.pick(ids);
      const before = fake.get(id);
      const moving = randomMove(random, reads.get(id) ?? [], step);
      const [moved, expected] = await Promise.all([real.move(moving), fake.move(moving)]);
      expect(moved).toEqual(expected);
      if (expected.kind === 'refused') continue;
      taken.add(moving.transition);
      expectLegal(before, fake.get(id));
      reads.get(id)?.push(fake.get(id));
      // A job that is over for good makes room for another, so that the walk goes on.
      if (!isActive(fake.get(id)) && random.below(4) === 0) replace(ids, id, `job_${ids.length + step}`);
      for (const fresh of ids.filter((one) => !reads.has(one))) {
        const job = storedJob('queued', { id: fresh });
        await Promise.all([real.create(job), fake.create(job)]);
        reads.set(fresh, [job]);
      }
    }

    expect(taken.size).toBeGreaterThan(transitions.length / 2);
    for (const job of fake.all()) expect(await real.read(job.id)).toEqual({ kind: 'job', job });
    await lookAtAll(real, fake);
    await expectIndexed(new DynamoJobIndex(dynamo.client, table), fake.all());
  });
});

/** Mostly from the latest read and mostly to where something may happen, else from any read to anywhere. */
function randomMove(random: Seeded, reads: readonly Job[], step: number): Move<Transition> {
  const latest = reads.at(-1);
  const job = random.below(3) > 0 && latest !== undefined ? latest : random.pick(reads);
  const possible = transitions.filter((transition) => rowOf(transition).from.includes(job.state));
  const transition = random.below(10) > 0 ? random.pick(possible) : random.pick(transitions);
  const change: AnyMove['change'] = {
    ...changeOf(transition),
    ...('hold' in changeOf(transition) ? { hold: { token: `hold-${step}` } } : {}),
    ...('claimToken' in changeOf(transition) ? { claimToken: `claim-${step}`, sends: 1 + random.below(2) } : {}),
    ...('checkAt' in changeOf(transition) ? { checkAt: noon + step } : {}),
  };
  return { transition, job, change } as Move<Transition>;
}

function expectLegal(before: Job, after: Job): void {
  expect(after.version).toBeGreaterThanOrEqual(before.version);
  expect(after.attempt).toBeGreaterThanOrEqual(before.attempt);
  if (isTerminal(before.state)) expect(after.state).toBe(before.state);
  if (after.state === 'queued') expect(after.hold).toBeUndefined();
}

function replace(ids: string[], old: string, fresh: string): void {
  ids[ids.indexOf(old)] = fresh;
}

/** What a reconciler's next tick does: takes out of the index what has no reason to be there any more. */
async function lookAtAll(real: DynamoJobStore, fake: MemoryJobStore): Promise<void> {
  for (const job of fake.all()) {
    const look = { transition: 'look', job, change: { checkAt: noon } } as Move<'look'>;
    expect(await real.move(look)).toEqual(await fake.move(look));
  }
}

async function expectIndexed(index: JobIndex, jobs: readonly Job[]): Promise<void> {
  const idsOf = (those: readonly Job[]) => those.map(({ id }) => id).toSorted();
  const due: string[] = [];
  for (let shard = 0; shard < activeShards; shard += 1) {
    const page = await index.due(shard, noon, undefined, 1_000);
    due.push(...page.items.map(({ id }) => id));
  }
  expect(due.toSorted()).toEqual(idsOf(jobs.filter(isActive)));
  const queued = await index.queued('default', 1_000);
  expect(queued.toSorted()).toEqual(idsOf(jobs.filter(({ state }) => state === 'queued')));
  const flagged = await index.flagged('default', undefined, 1_000);
  expect(flagged.items.map(({ id }) => id).toSorted()).toEqual(idsOf(jobs.filter(wantsAttention)));
}
