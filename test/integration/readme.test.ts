import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { inspectPicture } from '../../lambdas/domain/picture.ts';
import { localDemoKey } from '../../local/seed-keys.ts';
import { startLocal, type LocalEnvironment } from '../../local/start-local.ts';

const root = path.resolve(import.meta.dirname, '../..');
const doneLimitMs = 60_000;

let folder: string;
let local: LocalEnvironment;
let blocks: string[];
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'slowlane-readme-'));
  await copyFile(path.join(root, 'test/fixtures/photo.jpg'), path.join(folder, 'photo.jpg'));
  local = await startLocal({ dataDir: path.join(folder, 'data'), quiet: true });
  const readme = await readFile(path.join(root, 'README.md'), 'utf8');
  const [, byExample = ''] = readme.split('## The API by example');
  blocks = [...byExample.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
});
afterAll(async () => {
  await local.stop();
  await rm(folder, { recursive: true });
});

/** What a reader's shell does with it, on the port of this run. @returns what is printed. */
async function shell(script: string): Promise<string> {
  const here = script.replaceAll('http://127.0.0.1:4100', local.url);
  const { stdout } = await promisify(execFile)('bash', ['-euc', here], { cwd: folder });
  return stdout;
}

/** The block, with curl telling its answers' headers too. */
const withHeaders = (block: string) => block.replace('curl ', 'curl -si ');

it('the commands of the README do what it says', async () => {
  const [submit = '', look = ''] = blocks;
  const again = submit.replace(/^KEY=.*$/m, '');
  expect(again).not.toBe(submit);
  const submitted = await shell(`${withHeaders(submit)}\n${withHeaders(again)}`);
  expect(submitted).toMatch(/^HTTP\/1\.1 202 .*^location: .*HTTP\/1\.1 200 .*^idempotent-replayed: true/ms);
  const ids = new Set([...submitted.matchAll(/"id":"(job_[a-z0-9]+)"/g)].map(([, id = '']) => id));
  expect(ids.size).toBe(1);
  const [id = ''] = ids;
  await untilDone(id);

  const lookAtIt = look.replace(/^ID=job_….*$/m, `ID=${id}`);
  expect(lookAtIt).not.toBe(look);
  const seen = await shell(lookAtIt);
  expect(seen).toContain('"status":"succeeded"');
  expect(seen).toMatch(/"url":"ws:[^"]*ticket=/);
  const picture = await readFile(path.join(folder, 'out.jpg'));
  const limits = { maxBytes: 20_000_000, maxPixels: 4_000_000 };
  expect(inspectPicture(picture, limits)).toMatchObject({ kind: 'picture', format: 'jpeg', width: 384, height: 288 });
}, 90_000);

async function untilDone(id: string): Promise<void> {
  const giveUpAtMs = Date.now() + doneLimitMs;
  while (Date.now() < giveUpAtMs) {
    const answer = await fetch(`${local.url}/api/v1/jobs/${id}`, { headers: { 'x-api-key': localDemoKey } });
    if ((await answer.text()).includes('"done":true')) return;
    await pause(100);
  }
  throw new Error(`${id} is not done after ${doneLimitMs} ms.`);
}
