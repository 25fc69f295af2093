import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CallLedger } from '../../../local/runtime/calls.ts';
import { Permissions } from '../../../local/runtime/permissions.ts';
import { EventStore } from '../../../local/stores/events.ts';

const bus = 'arn:aws:events:us-east-1:000000000000:event-bus/jobs';
const permissions = new Permissions({
  announcer: [{ Effect: 'Allow', Action: ['events:PutEvents'], Resource: [bus] }],
});

let dataFolder: string;
let store: EventStore;
beforeEach(async () => {
  dataFolder = await mkdtemp(path.join(tmpdir(), 'slowlane-events-'));
  await open();
});
afterEach(async () => {
  await store.stop();
  await rm(dataFolder, { recursive: true });
});

async function open(): Promise<void> {
  const calls = new CallLedger();
  store = await EventStore.start({ dataFolder, region: 'us-east-1', permissions: () => permissions, calls });
  store.addBus('jobs');
}

async function publish(entries: object[], caller = 'announcer') {
  const response = await fetch(store.url, {
    method: 'POST',
    headers: {
      'x-amz-target': 'AWSEvents.PutEvents',
      authorization: `AWS4-HMAC-SHA256 Credential=${caller}/x/x/events/aws4_request`,
    },
    body: JSON.stringify({ Entries: entries }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const entry = (jobId: string, more: object = {}) => ({
  Source: 'slowlane',
  DetailType: 'Job Succeeded',
  Detail: JSON.stringify({ jobId }),
  EventBusName: 'jobs',
  ...more,
});

const jobIds = (position: number) =>
  store.after(position).events.map((event) => (event.detail as { jobId: string }).jobId);

it('gives what was published, from any position', async () => {
  expect((await publish([entry('a'), entry('b')])).body).toMatchObject({ FailedEntryCount: 0 });
  expect(jobIds(0)).toEqual(['a', 'b']);
  const { next } = store.after(0);
  await publish([entry('c')]);
  expect(jobIds(next)).toEqual(['c']);
});

it('has it after a restart, a line that a kill cut off left out', async () => {
  await publish([entry('a')]);
  await store.stop();
  await appendFile(path.join(dataFolder, 'events.jsonl'), '{"detail":{"jobId":"cut o');
  await open();
  await publish([entry('b')]);
  await store.stop();
  await open();
  expect(jobIds(0)).toEqual(['a', 'b']);
});

it('tells a refused entry in its place, and refuses a caller without a grant', async () => {
  const { status, body } = await publish([
    entry('a'),
    entry('b', { Detail: 'no json' }),
    entry('c', { EventBusName: 'default' }),
  ]);
  expect([status, body['__type']]).toEqual([400, 'AccessDeniedException']);
  const mixed = await publish([entry('d'), entry('e', { Detail: 'no json' })]);
  expect(mixed.body).toMatchObject({
    FailedEntryCount: 1,
    Entries: [{ EventId: expect.any(String) }, { ErrorCode: 'MalformedDetail' }],
  });
  expect((await publish([entry('f')], 'stranger')).status).toBe(400);
});
