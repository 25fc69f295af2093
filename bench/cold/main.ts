import { execFile } from 'node:child_process';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { build } from 'esbuild';
import { bundleFunctions } from '../../lib/bundle.ts';
import { markdownTable, writeSection } from '../marked-section.ts';

/**
 * What a cold start of each function costs on this machine: the size of its bundle, and how long its import takes in a
 * fresh process, beside an empty handler and one that only imports the DynamoDB client. Compare the ratios: a busy
 * laptop is not Lambda.
 */

const root = path.resolve(import.meta.dirname, '../..');
const functionsFolder = path.join(root, '.build/functions');
const baselinesFolder = path.join(root, '.build/baselines');
const run = promisify(execFile);

const baselines = {
  '(empty handler)': 'export const handler = async () => undefined;',
  '(DynamoDB client only)':
    "import { DynamoDBClient } from '@aws-sdk/client-dynamodb'; const client = new DynamoDBClient({}); export const handler = async () => client;",
};

/** Enough for a module to start; nothing is called. */
const variables = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'none',
  AWS_SECRET_ACCESS_KEY: 'none',
  ENVIRONMENT: 'bench',
  TABLE_NAME: 'bench',
  BUCKET_NAME: 'bench',
  SIGNING_SECRET_ARN: 'arn:aws:secretsmanager:eu-central-1:000000000000:secret:signing',
  EVENT_BUS_NAME: 'bench',
  LANE: 'default',
  PUBLIC_URL: 'https://api.example.com',
  SOCKET_URL: 'wss://socket.example.com/v1',
  SOCKET_MANAGEMENT_URL: 'https://socket.example.com/v1',
  ISSUERS: '[]',
  LIMITS: JSON.stringify({ activeJobs: 100, submitsPerMinute: 60, sockets: 10 }),
  RETENTION: JSON.stringify({ jobDays: 30, evidenceDays: 400, auditDays: 365 }),
  LANES: JSON.stringify({ default: { queueUrl: 'https://sqs.example.com/queue', cap: 2, ceiling: 8 } }),
  FEATURES: JSON.stringify({
    upscale: { vendor: 'images', lane: 'default', maxQueueSeconds: 3600, maxRunSeconds: 600 },
  }),
  VENDORS: JSON.stringify({
    images: {
      adapter: 'jobs-api',
      baseUrl: 'https://images.example.com',
      secretArn: 'arn:aws:secretsmanager:eu-central-1:000000000000:secret:images',
      dedupe: 'none',
    },
  }),
};

const measure = `
const before = performance.now();
await import(process.argv[1]);
console.log(performance.now() - before);
process.exit(0);
`;

async function importMs(file: string): Promise<number> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', measure, file], {
    env: { PATH: process.env['PATH'], ...variables },
  });
  return Number(stdout.trim().split('\n').at(-1));
}

async function buildBaseline(name: string, source: string): Promise<string> {
  await mkdir(baselinesFolder, { recursive: true });
  const file = path.join(baselinesFolder, `${name.replaceAll(/[^a-z]/gi, '')}.mjs`);
  const result = await build({
    stdin: { contents: source, resolveDir: root },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    minify: true,
    mainFields: ['module', 'main'],
    write: false,
    banner: { js: "import{createRequire as __r}from'node:module';const require=__r(import.meta.url);" },
  });
  await writeFile(file, result.outputFiles[0]?.contents ?? '');
  return file;
}

const { values } = parseArgs({ options: { runs: { type: 'string', default: '15' }, write: { type: 'boolean' } } });
const runs = Number(values.runs);

await bundleFunctions();
const names = (await readdir(functionsFolder)).toSorted();
const files = new Map<string, string>();
for (const [name, source] of Object.entries(baselines)) files.set(name, await buildBaseline(name, source));
for (const name of names) files.set(name, path.join(functionsFolder, name, 'index.mjs'));

// Interleaved, so that a busy moment of the machine falls on all of them alike; the least is the one least disturbed.
const least = new Map<string, number>();
for (let round = 0; round < runs; round += 1) {
  for (const [name, file] of files) least.set(name, Math.min(least.get(name) ?? Infinity, await importMs(file)));
}

const client = least.get('(DynamoDB client only)') ?? Number.NaN;
const rows: string[][] = [];
for (const [name, file] of files) {
  const { size } = await stat(file);
  const ms = least.get(name) ?? Number.NaN;
  rows.push([name, `${Math.round(size / 1000)}`, ms.toFixed(0), (ms / client).toFixed(2)]);
}
const table = markdownTable(['function', 'KB minified', 'import ms (least)', '× DynamoDB client'], rows);
console.log(table);
if (values.write) {
  const text = `${table}\n\nLeast of ${runs} imports, each in a fresh process of Node ${process.versions.node}.`;
  await writeSection(path.join(root, 'docs/benchmarks.md'), 'cold', text);
}
