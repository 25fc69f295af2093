import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { problemOf } from './harness/api.ts';
import { eventually } from './harness/eventually.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

const run = promisify(execFile);
const photoFile = path.resolve(import.meta.dirname, '../fixtures/photo.jpg');

vi.setConfig({ testTimeout: 120_000 });

let slowlane: Slowlane;
beforeAll(async () => {
  slowlane = await startSlowlane();
});
afterAll(async () => {
  await slowlane.stop();
});

/** How far two pictures of one size are apart, as the mean difference of a channel (0–255). */
async function distance(one: Buffer, other: Buffer): Promise<number> {
  const { width, height } = await sharp(one).metadata();
  const [a, b] = await Promise.all(
    [one, other].map((picture) => sharp(picture).resize(width, height).removeAlpha().raw().toBuffer()),
  );
  if (a?.length !== b?.length || a === undefined || b === undefined) throw new Error('Not one size.');
  return a.reduce((sum, value, index) => sum + Math.abs(value - (b[index] ?? 0)), 0) / a.length;
}

describe('a picture, from the tap to the finished result', () => {
  it('is made twice as wide and high, with progress on a socket, and sold once', async () => {
    const { api, studio } = slowlane;
    const photo = Buffer.from(await readFile(photoFile));
    // The model alone needs a second for it: too little to see progress. It is held until some was seen.
    await studio.fault({ point: 'run', fault: 'slow', seconds: 120, feature: 'upscale', times: 1 });
    const submitted = await api.submit({ feature: 'upscale', picture: photo, metadata: { album: 7 } });
    expect([submitted.status, submitted.headers.get('idempotent-replayed')]).toEqual([202, null]);
    expect(submitted.headers.get('location')).toBe(`${slowlane.url}/api/v1/jobs/${submitted.job.id}`);
    expect(submitted.headers.get('request-id')).toBeTruthy();
    expect(submitted.job).toMatchObject({ done: false, feature: 'upscale', metadata: { album: 7 }, result: null });

    const socket = await slowlane.follow([submitted.job.id]);
    await eventually('progress, a live value among it', () => {
      const isLive = socket.messages.some(({ message }) => message.type === 'progress');
      return (isLive && new Set(socket.shownPercents(submitted.job.id)).size >= 2) || undefined;
    });
    await studio.hurry();
    const { job } = await socket.hearDone(submitted.job.id);
    expect(job).toMatchObject({ status: 'succeeded', error: null, attention: null, charge: { state: 'certain' } });
    const percents = socket.shownPercents(job.id);
    expect(percents.length).toBeGreaterThan(2);
    expect(percents).toEqual(percents.toSorted((a, b) => a - b));
    expect(percents.at(-1)).toBe(100);
    socket.close();

    const before = await sharp(photo).metadata();
    const picture = await api.download(job);
    const after = await sharp(picture).metadata();
    expect([after.width, after.height]).toEqual([before.width * 2, before.height * 2]);
    expect([job.result?.width, job.result?.height, job.result?.bytes]).toEqual([
      after.width,
      after.height,
      picture.byteLength,
    ]);
    // The same scene, and not a plain enlargement of it.
    const enlarged = await sharp(photo).resize(after.width, after.height).png().toBuffer();
    expect(await distance(picture, enlarged)).toBeLessThan(12);
    expect(await distance(picture, enlarged)).toBeGreaterThan(0.5);
    expect(await studio.acceptedFor(job.id)).toHaveLength(1);

    const redirected = await fetch(`${slowlane.url}/api/v1/jobs/${job.id}/result`, {
      headers: { 'X-API-Key': 'local-demo-key' },
      redirect: 'manual',
    });
    expect(redirected.status).toBe(302);
    const followed = await fetch(redirected.headers.get('location') ?? '');
    expect(Buffer.from(await followed.arrayBuffer()).equals(picture)).toBe(true);
  });

  it('is one job for one key, while it runs and when it is done', async () => {
    const { api, studio } = slowlane;
    await studio.fault({ point: 'run', fault: 'ticks', perSecond: 2, seconds: 1, feature: 'stylize', times: 1 });
    const action = { feature: 'stylize', picture: await drawPicture(1), key: 'one-action', params: {} } as const;
    const first = await api.submit(action);
    const early = await api.submit(action);
    expect([early.status, early.headers.get('idempotent-replayed'), early.job.id]).toEqual([200, 'true', first.job.id]);
    const done = await api.done(first.job.id);
    const late = await api.submit(action);
    expect([late.status, late.job.status, late.job.version]).toEqual([200, 'succeeded', done.version]);
    const byKey = await api.send('/api/v1/jobs/by-key', { headers: { 'Idempotency-Key': 'one-action' } });
    expect(JSON.parse(byKey.text)).toMatchObject({ id: first.job.id, status: 'succeeded' });
    expect(await studio.acceptedFor(first.job.id)).toHaveLength(1);
  });

  it('is not touched by another request under its key', async () => {
    const { api } = slowlane;
    const first = await api.submit({ feature: 'stylize', picture: await drawPicture(2), key: 'reused' });
    const done = await api.done(first.job.id);
    for (const other of [
      { feature: 'stylize', picture: await drawPicture(3) },
      { feature: 'upscale', picture: await drawPicture(2) },
      { feature: 'stylize', picture: await drawPicture(2), params: { style: 'poster' } },
    ] as const) {
      const refused = await api.trySubmit({ ...other, key: 'reused' });
      expect(problemOf(refused)).toMatchObject({
        status: 422,
        code: 'idempotency_key_reused',
        jobId: first.job.id,
      });
    }
    expect(await api.job(first.job.id)).toEqual({ ...done, results: expect.any(Array), result: expect.any(Object) });
  });

  it('is had by the calls of the README', async () => {
    const readme = await readFile(path.resolve(import.meta.dirname, '../../README.md'), 'utf8');
    const blocks = [...readme.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
    const submit = blocks.find((block) => block.includes('-X POST') && block.includes('-F image'));
    expect(submit).toBeDefined();
    const script = (submit ?? '')
      .replaceAll('http://127.0.0.1:4100', slowlane.url)
      .replaceAll('photo.jpg', photoFile)
      .replaceAll('$(uuidgen)', 'readme-key')
      .replace('curl ', 'curl -sS ');
    const { stdout } = await run('bash', ['-euc', script]);
    const { id } = JSON.parse(stdout) as { id: string };
    expect(await slowlane.api.done(id)).toMatchObject({ status: 'succeeded', feature: 'upscale' });
  });
});
