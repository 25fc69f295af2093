import { GetItemCommand, PutItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Job } from '../../lambdas/domain/job.ts';
import {
  advance,
  isActive,
  rowOf,
  transitions,
  wantsAttention,
  type AnyMove,
  type Move,
  type Transition,
} from '../../lambdas/domain/lifecycle.ts';
import type { JobStore } from '../../lambdas/domain/ports.ts';
import { plain } from '../../lambdas/store/conditional-write.ts';
import { DynamoJobStore } from '../../lambdas/store/dynamo-job-store.ts';
import { itemOf, jobKey, keyItem } from '../../lambdas/store/item.ts';
import { MemoryDynamo } from '../fakes/memory-dynamo.ts';
import { MemoryJobStore } from '../fakes/memory-job-store.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';
import { everyMove, type MoveCase } from '../fixtures/every-move.ts';

/** `advance` is what a move means; here every adapter is held against it, for all that can be asked. */

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

interface Subject {
  readonly store: JobStore;
  /** Puts a job as it is. */
  readonly put: (job: Job) => Promise<void>;
  /** The keys of the indexes that it stands in; undefined where the subject has no items. */
  readonly indexKeys: (id: string) => Promise<Readonly<Record<string, unknown>> | undefined>;
}

async function memory(): Promise<Subject> {
  const store = new MemoryJobStore();
  return { store, put: async (job) => store.put(job), indexKeys: async () => undefined };
}

async function dynamoDb(): Promise<Subject> {
  return over(dynamo.client, await dynamo.createTable());
}

async function inProcess(): Promise<Subject> {
  const { client, tableName } = new MemoryDynamo();
  return over(client, tableName);
}

function over(client: DynamoDBClient, TableName: string): Subject {
  return {
    store: new DynamoJobStore(client, TableName),
    put: async (job) => {
      await client.send(new PutItemCommand({ TableName, Item: itemOf(job) }));
    },
    indexKeys: async (id) => {
      const { Item } = await client.send(
        new GetItemCommand({ TableName, Key: keyItem(jobKey(id)), ConsistentRead: true }),
      );
      return plain(Item);
    },
  };
}

const atOnce = 40;

/** Runs every case on a job of its own, and collects what differs: one list says more than the first difference. */
async function differences(subject: Subject, cases: readonly MoveCase[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (let from = 0; from < cases.length; from += atOnce) {
    const running = cases.slice(from, from + atOnce).map(async (one, index) => {
      const difference = await differenceOf(subject, one, `job_${from + index}`);
      if (difference !== undefined) found.push(`${one.name}: ${difference}`);
    });
    await Promise.all(running);
  }
  return found;
}

async function differenceOf(subject: Subject, one: MoveCase, id: string): Promise<string | undefined> {
  const stored = { ...one.stored, id } as Job;
  const moving = { ...one.moving, job: { ...one.moving.job, id } } as AnyMove;
  await subject.put(stored);
  const moved = await subject.store.move(moving as Move<Transition>);
  const expected = advance(stored, moving);
  const wanted =
    expected === undefined
      ? { kind: 'refused', actual: stored }
      : {
          kind: 'moved',
          job: expected,
          unbound: rowOf(moving.transition).unbinds ? stored.hold : undefined,
          followers: stored.followers,
        };
  const kept = await subject.store.read(id);
  try {
    expect(moved).toEqual(wanted);
    expect(kept).toEqual({ kind: 'job', job: expected ?? stored });
    expectPlaced(
      await subject.indexKeys(id),
      expected ?? stored,
      JSON.stringify(moving.job) === JSON.stringify(stored),
    );
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function expectPlaced(keys: Readonly<Record<string, unknown>> | undefined, job: Job, isAsRead: boolean): void {
  if (keys === undefined) return;
  expect(keys['queuedLane']).toBe(job.state === 'queued' ? job.lane : undefined);
  expect(keys['attention']).toBe(wantsAttention(job) ? job.lane : undefined);
  expect(typeof keys['flaggedAt']).toBe(wantsAttention(job) ? 'number' : 'undefined');
  // A job that lost its last reason between read and write stays until the next look; none may ever be missing.
  if (isActive(job)) expect(keys['activeShard']).toMatch(/^[0-7]$/);
  else if (isAsRead) expect(keys['activeShard']).toBeUndefined();
}

describe.each([
  ['MemoryJobStore', memory],
  ['DynamoJobStore', dynamoDb],
  ['DynamoJobStore over MemoryDynamo', inProcess],
])('%s', (_, create) => {
  it('does to a job in any state exactly what the lifecycle says of the transition', async () => {
    const cases = [...everyMove()];
    for (const wasTaken of [true, false]) {
      const those = cases.filter(({ stored, moving }) => (advance(stored, moving) !== undefined) === wasTaken);
      expect(new Set(those.map(({ moving }) => moving.transition))).toEqual(new Set(transitions));
    }
    expect(await differences(await create(), cases)).toEqual([]);
  }, 120_000);

  it('refuses to move a job that does not exist', async () => {
    const { store } = await create();
    const [one] = everyMove();
    expect(await store.move(one!.moving as Move<Transition>)).toEqual({ kind: 'refused', actual: undefined });
    expect(await store.read(one!.stored.id)).toBeUndefined();
  });
});
