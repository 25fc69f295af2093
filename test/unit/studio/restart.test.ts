import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { expect, onTestFinished, test, vi } from 'vitest';

import { openDatabase } from '../../../local/studio/database.ts';
import { Ledger } from '../../../local/studio/ledger.ts';
import { PictureFolder } from '../../../local/studio/picture-folder.ts';
import { apiKey, eventually, StudioClient, temporaryFolder } from './studio-client.ts';
import { openReceiver } from './webhook-receiver.ts';

// Processes start and pictures are made: seconds, and more on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const main = fileURLToPath(new URL('../../../local/studio/main.ts', import.meta.url));
const photo = await readFile(new URL('../../fixtures/photo.jpg', import.meta.url));

/** The studio as its own process, once it says that it is ready. */
async function startProcess(dataDir: string) {
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: '0', STUDIO_API_KEY: apiKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const problems: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => problems.push(chunk.toString('utf8')));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), exited.then(() => [''])]);
  const url = /^studio ready (http:\/\/127\.0\.0\.1:\d+)$/.exec(String(line))?.[1];
  const kill = async (signal: 'SIGKILL' | 'SIGTERM') => {
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return { studio: url === undefined ? undefined : new StudioClient(url), kill, exited, problems };
}

async function startReady(dataDir: string) {
  const { studio, ...rest } = await startProcess(dataDir);
  if (!studio) throw new Error(`The studio did not start: ${rest.problems.join('')}`);
  return { studio, ...rest };
}

test('what was accepted before kill -9 is finished after the restart', async () => {
  const dataDir = await temporaryFolder();
  const large = await sharp(photo).resize(256, 192).png().toBuffer();
  const before = await startReady(dataDir);
  await before.studio.fault({ point: 'run', fault: 'slow', seconds: 600 });
  const running = await before.studio.accepted({ feature: 'upscale', key: 'a.1', image: large });
  await before.studio.jobWith(running.id, 'running');
  await before.studio.fault({ point: 'submit', fault: 'drop-after-accept', times: 1 });
  await expect(before.studio.submit({ key: 'b.1' })).rejects.toThrow('fetch failed');
  await before.kill('SIGKILL');

  const { studio } = await startReady(dataDir);

  const ledger = await studio.ledger();
  expect(ledger.accepted.map(({ key }) => key)).toEqual(['a.1', 'b.1']);
  expect(ledger).toMatchObject({ posts: 2, maxInFlight: 2 });
  expect(ledger.inFlight).toBeGreaterThan(0);
  expect(await studio.jobWith(running.id, 'succeeded')).toMatchObject({ result: { width: 512, height: 384 } });
  const replay = await studio.submit({ key: 'b.1' });
  expect([replay.status, replay.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  await studio.jobWith(ledger.accepted[1]!.vendorJobId, 'succeeded');
  expect((await studio.ledger()).inFlight).toBe(0);
});

test('a cancel that was asked, and not acted on, before a crash holds after the restart', async () => {
  const dataDir = await temporaryFolder();
  const database = openDatabase(dataDir);
  const ledger = new Ledger(database);
  const id = 'stu_asked';
  const order = { feature: 'upscale', params: { scale: 2 } } as const;
  await new PictureFolder(dataDir).saveInput(id, photo);
  ledger.accept({ id, key: 'a.1', dedupes: true, order, callbackUrl: null, acceptedAtMs: Date.now() });
  ledger.begin(id, Date.now());
  ledger.askToCancel(id, Date.now());
  database.close();

  const { studio } = await startReady(dataDir);
  expect(await studio.jobWith(id, 'canceled')).toMatchObject({ key: 'a.1', result: null });
});

test('a webhook that was owed at kill -9 is sent after the restart', async () => {
  const dataDir = await temporaryFolder();
  const receiver = await openReceiver(Array.from({ length: 4 }, () => 503));
  const before = await startReady(dataDir);
  await before.studio.accepted({ key: 'a.1', callbackUrl: receiver.url });
  await eventually(async () => (receiver.jobStatuses().includes('succeeded') ? true : undefined), 'the first try');
  await before.kill('SIGKILL');
  receiver.statuses.length = 0;
  const refused = receiver.received.splice(0).find(({ job }) => job.status === 'succeeded');

  await startReady(dataDir);
  await eventually(async () => (receiver.jobStatuses().includes('succeeded') ? true : undefined), 'the next try');
  expect(receiver.received.map(({ id }) => id)).toContain(refused?.id);
});

test('SIGTERM stops it cleanly, in mid-work and with a held connection', async () => {
  const dataDir = await temporaryFolder();
  const before = await startReady(dataDir);
  await before.studio.fault({ point: 'run', fault: 'slow', seconds: 600 });
  await before.studio.fault({ point: 'status', fault: 'silent', feature: 'upscale' });
  const { id } = await before.studio.accepted({ feature: 'upscale', image: photo });
  await before.studio.fault({ point: 'events', fault: 'delay', seconds: 3_600 });
  const streaming = Promise.withResolvers<void>();
  const stream = before.studio.events(id, async () => streaming.resolve());
  await streaming.promise;
  const held = before.studio.get(`/api/v1/jobs/${id}`).then(
    () => 'answered',
    () => 'cut',
  );
  await eventually(
    async () => ((await before.studio.ledger()).accepted[0]?.status === 'running' ? true : undefined),
    'a run',
  );

  expect(await before.kill('SIGTERM')).toBe(0);
  expect(await held).toBe('cut');
  expect(await stream).toEqual({ events: [], broke: true });
  expect(before.problems).toEqual([]);
  const { studio } = await startReady(dataDir);
  await studio.jobWith(id, 'succeeded');
});

test('a second studio on the same folder does not start', async () => {
  const dataDir = await temporaryFolder();
  await startReady(dataDir);
  const second = await startProcess(dataDir);
  await second.exited;
  expect(second.studio).toBeUndefined();
  expect(second.problems.join('')).toContain('database is locked');
});
