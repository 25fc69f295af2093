import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { callAws, type Account } from './aws.ts';
import { linesOf, readLogs } from './logs.ts';

type Logs = ReadonlyMap<string, readonly string[]>;

/** The schedule fires once a minute; the rest is for a slow machine. */
const tickLimitMs = 90_000;
const errorsMetric = /"ReconcileErrors":(\d+)/;

/** The logs, once they hold a tick of the reconciler that came to its end; or as they are when it is too late for one. */
export async function logsAfterTick(account: Account): Promise<Logs> {
  const giveUpAtMs = Date.now() + tickLimitMs;
  for (;;) {
    const logs = await readLogs(account);
    if (hasTick(logs) || Date.now() > giveUpAtMs) return logs;
    await pause(500);
  }
}

function hasTick(logs: Logs): boolean {
  return linesOf(logs, 'reconcilejobs').some((line) => errorsMetric.test(line));
}

/** What a function logs where it, its role or its code is at fault. @returns what is wrong, a line each */
export function checkLogs(logs: Logs): string[] {
  const failedTicks = linesOf(logs, 'reconcilejobs').filter((line) => Number(errorsMetric.exec(line)?.[1] ?? 0) > 0);
  const faults = [...logs].flatMap(([group, lines]) =>
    lines.filter((line) => isFault(line)).map((line) => `${group}: ${line.slice(0, 500)}`),
  );
  const noTick = `No tick of the reconciler came to its end within ${tickLimitMs / 1000} s after the suite.`;
  return [
    ...(hasTick(logs) ? [] : [noTick]),
    ...failedTicks.map((line) => `A tick of the reconciler failed: ${line}`),
    ...faults,
  ];
}

function isFault(line: string): boolean {
  return /"level":"error"|AccessDenied|not authorized to perform|Task timed out|"errorType"|^\w*Error: /.test(line);
}

const queuesSchema = z.object({ QueueUrls: z.array(z.string()) });
const attributesSchema = z.object({ Attributes: z.record(z.string(), z.string()) });

/** The suite waits for its jobs; a ring or a worker may still be on its way when the last of them is seen to be done. */
const lagLimitMs = 60_000;

/** What is wrong in the end: what lags behind is asked after until it is well, or late. */
async function wrongInTheEnd(check: () => Promise<string[]>): Promise<string[]> {
  const giveUpAtMs = Date.now() + lagLimitMs;
  for (;;) {
    const wrong = await check();
    if (wrong.length === 0 || Date.now() > giveUpAtMs) return wrong;
    await pause(500);
  }
}

/** Every ring was served, and none by a crash. @returns what is wrong, a line each */
export async function checkQueues(account: Account): Promise<string[]> {
  return await wrongInTheEnd(() => wrongWithQueues(account));
}

async function wrongWithQueues(account: Account): Promise<string[]> {
  const { QueueUrls } = await callAws(account, 'sqs', 'ListQueues', {}, queuesSchema);
  if (QueueUrls.length !== 2) return [`${QueueUrls.length} queues were deployed, not 2`];
  const found = await Promise.all(
    QueueUrls.map(async (QueueUrl) => {
      const input = { QueueUrl, AttributeNames: ['All'] };
      const { Attributes } = await callAws(account, 'sqs', 'GetQueueAttributes', input, attributesSchema);
      const waiting = Number(Attributes['ApproximateNumberOfMessages']);
      return { QueueUrl, waiting, redrives: Attributes['RedrivePolicy'] !== undefined };
    }),
  );
  return [
    ...found
      .filter(({ waiting }) => waiting > 0)
      .map(({ QueueUrl, waiting }) => `${QueueUrl} holds ${waiting} messages`),
    ...(found.filter(({ redrives }) => redrives).length === 1 ? [] : ['The rings have no dead-letter queue']),
  ];
}

const ledgerSchema = z.object({
  posts: z.int(),
  accepted: z.array(z.object({ key: z.string().nullable() })),
});

/** Whatever the suite did, the vendor was asked for each job once. @returns what is wrong, a line each */
export async function checkLedger(studioUrl: string): Promise<string[]> {
  return await wrongInTheEnd(() => wrongWithLedger(studioUrl));
}

async function wrongWithLedger(studioUrl: string): Promise<string[]> {
  const { posts, accepted } = ledgerSchema.parse(await (await fetch(`${studioUrl}/control/ledger`)).json());
  const keys = new Set(accepted.map(({ key }) => key));
  return [
    ...(accepted.length === 0 ? ['The vendor made no picture.'] : []),
    ...(keys.size === accepted.length && posts === accepted.length
      ? []
      : [`The vendor got ${posts} submits and accepted ${accepted.length}, of ${keys.size} keys`]),
  ];
}
