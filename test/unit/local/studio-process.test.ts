import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startLocal } from '../../../local/start-local.ts';
import { ensureStudio } from '../../../local/studio-process.ts';

let dataFolder: string;
beforeEach(async () => {
  dataFolder = await mkdtemp(path.join(tmpdir(), 'slowlane-studio-'));
});
afterEach(() => rm(dataFolder, { recursive: true }));

const start = (port = 0) => ensureStudio({ dataFolder, host: '127.0.0.1', port });
const isUp = async (url: string) => {
  try {
    return (await fetch(`${url}/control/health`)).ok;
  } catch {
    return false;
  }
};

it('finds the studio that an earlier run left, and ends it when told to', async () => {
  const first = await start();
  expect(await isUp(first.url)).toBe(true);
  // The run that started it is gone without stopping it: all it left is the data folder.
  const second = await start();
  expect(second.url).toBe(first.url);
  expect(second.secret).toEqual(first.secret);
  await second.stop();
  expect(await isUp(first.url)).toBe(false);
});

it('starts another one where the one it knows is gone, with the same secret', async () => {
  const first = await start();
  await first.stop();
  const second = await start();
  expect(await isUp(second.url)).toBe(true);
  expect(second.secret).toEqual(first.secret);
  await second.stop();
});

it('uses what already answers on the wanted port, and leaves it running', async () => {
  const first = await start();
  const other = await mkdtemp(path.join(tmpdir(), 'slowlane-studio-'));
  const second = await ensureStudio({ dataFolder: other, host: '127.0.0.1', port: Number(new URL(first.url).port) });
  expect(second.url).toBe(first.url);
  await second.stop();
  expect(await isUp(first.url)).toBe(true);
  await first.stop();
  await rm(other, { recursive: true });
});

/** Ports that `fetch` refuses, as 4190, the studio's own, is one. */
const refusedByFetch = [6000, 6566, 6697, 5061, 4045, 4190, 10080];

async function firstFree(ports: readonly number[]): Promise<number> {
  for (const port of ports) {
    const server = createServer();
    const listening = once(server, 'listening');
    server.listen(port, '127.0.0.1');
    const free = await listening.then(
      () => true,
      () => false,
    );
    if (!free) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error(`None of ${ports.join(', ')} is free.`);
}

it('finds it on a port of an old protocol too', async () => {
  const first = await start(await firstFree(refusedByFetch));
  const second = await start();
  expect(second).toMatchObject({ url: first.url, found: true });
  await second.stop();
});

it('says which setting moves it off a port that is taken', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(start(port)).rejects.toThrow(`Port ${port} is taken: set STUDIO_PORT to another one.`);
  server.close();
});

it('outlives a second start that finds its port taken: the first one is at work with it', async () => {
  const first = await start();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(startLocal({ dataDir: dataFolder, port, quiet: true })).rejects.toThrow(`Port ${port} is taken`);
  expect(await isUp(first.url)).toBe(true);
  server.close();
  await first.stop();
});

it('keeps what the studio says in its folder', async () => {
  const studio = await start();
  expect(await readFile(path.join(dataFolder, 'studio/studio.log'), 'utf8')).toContain(`studio ready ${studio.url}`);
  await studio.stop();
});
