import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 120_000 });

let slowlane: Slowlane;
let openedInMinute: number;
let keyReadAtMs: number;
beforeAll(async () => {
  slowlane = await startSlowlane({ reconcileEverySeconds: 3_600 });
  openedInMinute = currentMinute();
  keyReadAtMs = Date.now();
  // The first call of all reads secrets and keys, and notes when a key was used.
  const { job } = await slowlane.api.submit({ feature: 'stylize', picture: await drawPicture() });
  await slowlane.api.done(job.id);
});
afterAll(async () => {
  await slowlane.stop();
});

/** For how long an environment of a function remembers a key: lambdas/http/authenticate.ts. */
const keyRememberedMs = 30_000;
const currentMinute = () => Math.floor(Date.now() / 60_000);

const writes = ['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'TransactWriteItems'];

async function callsOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
  await slowlane.runtime.rest();
  await slowlane.runtime.resetCalls();
  await work();
  return (await slowlane.runtime.calls())['submit-job'] ?? {};
}

const sum = (calls: Record<string, number>, names: readonly string[]) =>
  names.reduce((total, name) => total + (calls[name] ?? 0), 0);

const countWrites = (calls: Record<string, number>) =>
  sum(
    calls,
    writes.map((name) => `dynamodb.${name}`),
  );

describe('what a submit costs in AWS calls', () => {
  it('stores one picture, writes three items and rings once', async () => {
    const action = { feature: 'stylize', picture: await drawPicture(1), key: 'counted' } as const;
    const calls = await callsOf(() => slowlane.api.submit(action));
    expect(calls['s3.PutObject']).toBe(1);
    // An owner's first submit of a minute opens the counter for it: one write more.
    const opensMinute = currentMinute() > openedInMinute;
    expect(opensMinute ? [3, 4] : [3]).toContain(countWrites(calls));
    expect(calls['sqs.SendMessage']).toBe(1);
    expect(calls['sqs.SendMessageBatch']).toBeUndefined();
    expect(calls['s3.DeleteObject']).toBeUndefined();
    // The job once before anything else, and what ranks and limits need. A key that was read long ago is read again.
    const readsKey = Date.now() - keyReadAtMs >= keyRememberedMs;
    expect(sum(calls, ['dynamodb.GetItem'])).toBeLessThanOrEqual(readsKey ? 3 : 2);
    expect(calls['secretsmanager.GetSecretValue']).toBeUndefined();
  });

  it('costs nothing but reads when it is repeated', async () => {
    const action = { feature: 'stylize', picture: await drawPicture(2), key: 'repeated' } as const;
    const first = await slowlane.api.submit(action);
    await slowlane.api.done(first.job.id);
    const calls = await callsOf(async () => {
      const again = await slowlane.api.submit(action);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    });
    expect(countWrites(calls)).toBe(0);
    expect(Object.keys(calls).filter((name) => /^sqs\.|^s3\.(Put|Delete|Copy)/.test(name))).toEqual([]);
  });

  it('costs nothing but reads when it is refused for its key', async () => {
    const first = await slowlane.api.submit({ feature: 'stylize', picture: await drawPicture(3), key: 'mismatched' });
    await slowlane.api.done(first.job.id);
    const calls = await callsOf(async () => {
      const refused = await slowlane.api.trySubmit({
        feature: 'stylize',
        picture: await drawPicture(4),
        key: 'mismatched',
      });
      expect(refused.status).toBe(422);
    });
    expect(countWrites(calls)).toBe(0);
    expect(Object.keys(calls).filter((name) => /^sqs\.|^s3\.(Put|Delete|Copy)/.test(name))).toEqual([]);
  });

  it('writes a whole quick job in few steps', async () => {
    await slowlane.runtime.rest();
    await slowlane.runtime.resetCalls();
    const { job } = await slowlane.api.submit({ feature: 'stylize', picture: await drawPicture(5) });
    await slowlane.api.done(job.id);
    await slowlane.runtime.rest();
    const calls = await slowlane.runtime.calls();
    const worker = calls[await slowlane.runtime.workerName()] ?? {};
    // Hold, claim, vendor link, accept, progress, complete, free, announced, and the life of request and link.
    expect(countWrites(worker)).toBeLessThanOrEqual(10);
  });
});
