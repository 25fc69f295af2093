import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { DemoApi } from '../../local/demo/api.ts';
import { followUntilDone } from '../../local/demo/follow.ts';
import { localDemoKey } from '../../local/seed-keys.ts';
import { startLocal, type LocalEnvironment } from '../../local/start-local.ts';
import { markdownTable } from '../marked-section.ts';
import { prices } from './prices.ts';

/**
 * What a million jobs cost on AWS, the vendor's own bill aside: calls counted in a real local run, priced by AWS's list.
 * What a local run can't measure (how long a picture takes, how big it is) is an assumption, named in the output.
 */

const assumptions = {
  /** A picture at the vendor: the worker is held for it, and a follower's socket is open for it. */
  pictureSeconds: 20,
  /** What an API function takes, warm, at its memory. */
  apiSeconds: 0.1,
  /** Input and result together, kept for the retention. */
  pictureMegabytes: 4,
  retentionMonths: 1,
  /** What all functions write to their logs per job. */
  logKilobytes: 6,
  /** Index entries that one write of a job changes, on average over its life. */
  indexWritesPerJobWrite: 2,
};

type Calls = Record<string, Record<string, number>>;
const callsAnswer = z.record(z.string(), z.record(z.string(), z.number()));
const functionsAnswer = z.array(z.object({ name: z.string(), memoryMegabytes: z.number() }));

const { values } = parseArgs({ options: { jobs: { type: 'string', default: '10' }, write: { type: 'boolean' } } });
const jobs = Number(values.jobs);

async function getJson<T>(url: string, schema: z.ZodType<T>): Promise<T> {
  return schema.parse(await (await fetch(url)).json());
}

/** The counted part: submits with a photo, each followed over a socket of its own to the end, then its result fetched. */
async function run(local: LocalEnvironment, photo: Buffer<ArrayBuffer>): Promise<Calls> {
  await fetch(`${local.url}/_local/calls`, { method: 'DELETE' });
  const api = new DemoApi(local.url, localDemoKey);
  for (let number = 0; number < jobs; number += 1) {
    const job = await api.submit(photo, { key: randomUUID(), feature: 'stylize' });
    const done = await followUntilDone(await api.socket(), job.id, () => undefined);
    if (done.status !== 'succeeded') throw new Error(`A job ended ${done.status}.`);
    await api.download(done.result?.url ?? '');
  }
  return await getJson(`${local.url}/_local/calls`, callsAnswer);
}

function total(calls: Calls, pattern: RegExp): number {
  const counted = Object.values(calls).flatMap((operations) => Object.entries(operations));
  return counted.filter(([operation]) => pattern.test(operation)).reduce((sum, [, count]) => sum + count, 0) / jobs;
}

interface Line {
  readonly what: string;
  readonly perJob: number;
  readonly unit: string;
  readonly dollars: number;
}

function linesOf(calls: Calls, memory: ReadonlyMap<string, number>): Line[] {
  const gigabytes = (name: string) => (memory.get(name) ?? 0) / 1024;
  const line = (what: string, perJob: number, unit: string, price: number): Line => ({
    what,
    perJob,
    unit,
    dollars: perJob * price * 1e6,
  });
  const jobWrites = total(calls, /^dynamodb\.(Put|Update|Delete)Item$/);
  const writes = jobWrites * (1 + assumptions.indexWritesPerJobWrite);
  // Strong reads of up to 4 KB are one unit; a query of an index reads less and is billed at least half of one.
  const reads = total(calls, /^dynamodb\.(GetItem|BatchGetItem)$/) + total(calls, /^dynamodb\.Query$/) / 2;
  const rings = total(calls, /^sqs\.SendMessage$/);
  const posts = total(calls, /PostToConnection$/);
  const pictures = assumptions.pictureMegabytes / 1024;
  // Per job: one submit, one ticket; on the socket: connect with its authorizer, one follow, disconnect.
  const apiRequests = 2;
  const socketInvocations = 4;
  const apiGbSeconds =
    (gigabytes('submit-job') + gigabytes('create-socket-ticket') + socketInvocations * gigabytes('follow-job')) *
    assumptions.apiSeconds;
  return [
    line(
      'worker held for the picture',
      gigabytes('dispatch-job') * assumptions.pictureSeconds,
      'GB-s',
      prices.lambdaGbSecond,
    ),
    line('API and socket functions', apiGbSeconds, 'GB-s', prices.lambdaGbSecond),
    line('Lambda requests', apiRequests + socketInvocations + rings, 'requests', prices.lambdaRequest),
    line('HTTP API', apiRequests, 'requests', prices.httpRequest),
    line('socket messages', posts + 2, 'messages', prices.socketMessage),
    line('socket open for the picture', assumptions.pictureSeconds / 60, 'minutes', prices.socketMinute),
    line('DynamoDB writes, indexes included', writes, 'units', prices.writeUnit),
    line('DynamoDB reads', reads, 'units', prices.readUnit),
    line('SQS: send, receive, delete', rings * 3, 'requests', prices.queueRequest),
    line('S3 puts', total(calls, /^s3\.(PutObject|CopyObject)$/), 'requests', prices.objectPut),
    line('S3 gets', total(calls, /^s3\.(GetObject|HeadObject)$/) + 1, 'requests', prices.objectGet),
    line('pictures kept', pictures * assumptions.retentionMonths, 'GB-months', prices.objectGbMonth),
    line('events', total(calls, /PutEvents$/), 'events', prices.busEvent),
    line('logs', assumptions.logKilobytes / 1e6, 'GB', prices.logGb),
  ];
}

const dataDir = await mkdtemp(path.join(os.tmpdir(), 'slowlane-cost-'));
const local = await startLocal({ dataDir, quiet: true });
try {
  const photo = Buffer.from(await readFile(path.join(import.meta.dirname, '../../test/fixtures/photo.jpg')));
  const functions = await getJson(`${local.url}/_local/functions`, functionsAnswer);
  const calls = await run(local, photo);
  const memory = new Map(
    functions.map(({ name, memoryMegabytes }) => [name.replace(/-default$/, ''), memoryMegabytes]),
  );
  const lines = linesOf(calls, memory);
  const sum = lines.reduce((all, { dollars }) => all + dollars, 0);
  const rows = lines.map(({ what, perJob, unit, dollars }) => [
    what,
    `${perJob < 0.01 ? perJob.toExponential(1) : perJob.toFixed(2)} ${unit}`,
    dollars.toFixed(2),
  ]);
  const table = markdownTable(['what', 'per job', '$ per million jobs'], [...rows, ['**sum**', '', sum.toFixed(2)]]);
  console.log(`${table}\n`);
  console.log(JSON.stringify(calls, null, 1));
  if (values.write) await writeDocument(table);
} finally {
  await local.stop();
  await rm(dataDir, { recursive: true, force: true });
}

async function writeDocument(table: string): Promise<void> {
  const named = Object.entries(assumptions).map(([name, value]) => `- \`${name}\`: ${value}`);
  const text = `# What it costs

Written by \`npm run bench:cost -- --write\`: the AWS calls of ${jobs} jobs were counted in a local run (each submitted with a photo, followed
over a socket to its end, its result downloaded), and priced by AWS's on-demand list for us-east-1 without free tiers (\`bench/cost/prices.ts\`).
The vendor's own bill is not in it, and is usually a thousand times larger.

${table}

Assumed, since a local run can't measure it (\`bench/cost/main.ts\`):

${named.join('\n')}

The schedule costs the same whether there are jobs or not: 43,200 ticks a month of the reconciler, each with two or three calls per lane and
eight queries, come to less than two dollars.
`;
  await writeFile(path.join(import.meta.dirname, '../../docs/cost.md'), text);
}
process.exit(0);
