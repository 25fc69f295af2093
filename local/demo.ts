import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { inspectPicture } from '../lambdas/domain/picture.ts';
import { DemoApi, type DemoJob } from './demo/api.ts';
import { ProgressBar } from './demo/progress-bar.ts';
import { followUntilDone } from './demo/follow.ts';
import { localDemoKey } from './seed-keys.ts';
import { startLocal, type LocalEnvironment } from './start-local.ts';

/** From nothing to a picture on disk: `npm run demo -- [photo]`. */

const ownPhoto = path.join(import.meta.dirname, 'demo/photo.jpg');
const whyUnread: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file.',
  EISDIR: 'That is a folder. Name a JPEG, PNG or WebP.',
  EACCES: 'You may not read it.',
};
const limits = { maxBytes: 20_000_000, maxPixels: 512 * 512 };

async function demo(photoPath: string): Promise<void> {
  const photo = await readPhoto(photoPath);
  const dataDir = await mkdtemp(path.join(os.tmpdir(), 'slowlane-demo-'));
  console.log('Starting Slowlane on this machine (the first time also builds it)…');
  const starting = startLocal({ dataDir, quiet: true });
  let cleaned: Promise<void> | undefined;
  const cleanUp = () => (cleaned ??= clean(starting, dataDir));
  stopOnSignal(cleanUp);
  try {
    await show(await starting, photoPath, photo);
  } finally {
    await cleanUp();
  }
}

async function clean(starting: Promise<LocalEnvironment>, dataDir: string): Promise<void> {
  // What could not start has nothing to stop.
  const started = await starting.catch(() => undefined);
  await started?.stop();
  await rm(dataDir, { recursive: true, force: true });
}

let stopping = false;

/** The studio is a process of its own: it would outlive this one. */
function stopOnSignal(cleanUp: () => Promise<void>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // Who asks twice doesn't want to wait.
      if (stopping) process.exit(1);
      stopping = true;
      console.error('\nStopping…');
      void cleanUp().finally(() => process.exit(130));
    });
  }
}

async function readPhoto(photoPath: string): Promise<Buffer<ArrayBuffer>> {
  const photo = await readFile(photoPath).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${photoPath}: ${whyUnread[error.code ?? ''] ?? error.message}`, { cause: error });
  });
  const seen = inspectPicture(photo, limits);
  if (seen.kind === 'refused') throw new Error(`${photoPath}: ${seen.detail}`);
  console.log(`Photo: ${photoPath}, ${seen.width}×${seen.height}, ${photo.byteLength} bytes`);
  return photo;
}

async function show(local: LocalEnvironment, photoPath: string, photo: Buffer<ArrayBuffer>): Promise<void> {
  const api = new DemoApi(local.url, localDemoKey);
  const key = randomUUID();
  const startedAt = performance.now();
  const job = await api.submit(photo, { key, feature: 'upscale' });
  const again = await api.submit(photo, { key, feature: 'upscale' });
  console.log(`Submitted: ${job.id}; once more with the same key: ${again.id === job.id ? 'the same job' : again.id}`);
  const bar = new ProgressBar(process.stdout);
  const done = await followUntilDone(await api.socket(), job.id, (progress) => bar.show(progress));
  bar.end();
  const resultPath = await save(api, done, photoPath);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const vendorCalls = await countVendorCalls(local);
  console.log(`\nResult: ${resultPath}, ${done.result?.width}×${done.result?.height}`);
  console.log(`  idempotency key        ${key}`);
  console.log(`  job                    ${done.id}, ${done.status}, version ${done.version}`);
  console.log(`  accepted by the vendor ${vendorCalls} time${vendorCalls === 1 ? '' : 's'}`);
  console.log(
    `  stored writes          ${done.version} versions of the job; ${bar.values} value${bar.values === 1 ? '' : 's'} shown`,
  );
  console.log(`  seconds                ${seconds}`);
}

async function save(api: DemoApi, job: DemoJob, photoPath: string): Promise<string> {
  if (job.status !== 'succeeded' || job.result?.url == null) {
    throw new Error(
      `The job ended ${job.status}: ${job.error?.message ?? job.attention?.message ?? 'no reason given'}`,
    );
  }
  const extension = job.result.contentType === 'image/jpeg' ? 'jpg' : job.result.contentType.slice('image/'.length);
  const resultPath = path.resolve(`${path.parse(photoPath).name}-upscaled.${extension}`);
  await writeFile(resultPath, await api.download(job.result.url));
  return resultPath;
}

async function countVendorCalls(local: LocalEnvironment): Promise<number> {
  const ledger: unknown = await (await fetch(`${local.studioUrl}/control/ledger`)).json();
  return (ledger as { accepted: unknown[] }).accepted.length;
}

try {
  await demo(path.resolve(process.env['INIT_CWD'] ?? '.', process.argv[2] ?? ownPhoto));
  process.exit(0);
} catch (error) {
  // A demo that is being stopped breaks off somewhere; that is no news.
  if (!stopping) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
