import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { describe, expect, test, vi } from 'vitest';

import { loadSuperResolution } from '../../../local/studio/super-resolution.ts';
import type { Patch } from '../../../local/studio/tiles.ts';
import { enlargeByTiles } from '../../../local/studio/upscale-picture.ts';
import { openStudio, smallPicture } from './studio-client.ts';

// Pictures are made: seconds, and more on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const photo = await readFile(new URL('../../fixtures/photo.jpg', import.meta.url));

async function upscaled(image: Uint8Array) {
  const studio = await openStudio();
  const { id } = await studio.accepted({ feature: 'upscale', image });
  const { events } = await studio.events(id);
  const result = await studio.get(`/api/v1/jobs/${id}/result`);
  const { data, info } = await sharp(await result.bytes())
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { events, job: await studio.job(id), data, info };
}

async function patchOf(picture: Uint8Array | Buffer): Promise<Patch> {
  const { data, info } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return { pixels: data, width: info.width, height: info.height };
}

/** Mean squared difference of two pictures of one size. */
function difference(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) throw new Error('The pictures differ in size.');
  return a.reduce((sum, value, index) => sum + (value - b[index]!) ** 2, 0) / a.length;
}

test('a 64×64 picture comes back as 128×128', async () => {
  const { job, info } = await upscaled(await sharp(photo).resize(64, 64, { fit: 'cover' }).png().toBuffer());
  expect(job).toMatchObject({ status: 'succeeded', result: { width: 128, height: 128, contentType: 'image/png' } });
  expect(info).toMatchObject({ width: 128, height: 128, channels: 3 });
});

test('progress comes by tiles and rises', async () => {
  const { events, job } = await upscaled(photo);
  const percents = events
    .filter(({ job: { progress } }) => progress.stage === 'upscaling')
    .map(({ job: { progress } }) => progress.percent);
  // 192×144 is 3×3 tiles.
  expect(percents).toHaveLength(9);
  expect(percents).toEqual(percents.toSorted((a, b) => a - b));
  expect(job.result).toMatchObject({ contentType: 'image/jpeg', width: 384, height: 288 });
});

test('it restores more of a shrunk photo than bicubic does', async () => {
  const half = await sharp(photo).resize(96, 72, { kernel: 'lanczos3' }).png().toBuffer();
  const truth = (await patchOf(photo)).pixels;
  const bicubic = await patchOf(await sharp(half).resize(192, 144, { kernel: 'cubic' }).png().toBuffer());
  const { data } = await upscaled(half);
  expect(difference(data, truth)).toBeLessThan(0.85 * difference(bicubic.pixels, truth));
});

test('tiles leave no seam: they give the pixels of the undivided picture', async () => {
  const enlarge = await loadSuperResolution();
  const picture = await patchOf(await sharp(photo).resize(150, 90, { fit: 'cover' }).png().toBuffer());
  const tiled = await enlargeByTiles(picture, enlarge, { stopped: () => false, tileDone: () => undefined });
  const whole = await enlarge(picture);
  const margin = 20;
  let furthest = 0;
  for (let y = margin; y < whole.height - margin; y += 1) {
    for (let at = (y * whole.width + margin) * 3; at < ((y + 1) * whole.width - margin) * 3; at += 1) {
      furthest = Math.max(furthest, Math.abs(whole.pixels[at]! - tiled!.pixels[at]!));
    }
  }
  expect(furthest).toBeLessThanOrEqual(1);
});

test('an even area has no frame', async () => {
  const { data } = await upscaled(await smallPicture(40, 30));
  const reds = [...data].filter((_, index) => index % 3 === 0);
  expect(Math.max(...reds) - Math.min(...reds)).toBeLessThanOrEqual(6);
});

describe('what it keeps', () => {
  test('transparency, smoothly, without dark fringes', async () => {
    const disc = `<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48"><circle cx="24" cy="24" r="16" fill="#fff"/></svg>`;
    const { data, info } = await upscaled(await sharp(Buffer.from(disc)).png().toBuffer());
    expect(info).toMatchObject({ width: 96, height: 96, channels: 4 });
    const pixel = (x: number, y: number) => [...data.subarray((y * 96 + x) * 4, (y * 96 + x) * 4 + 4)];
    expect(pixel(2, 2)[3]).toBe(0);
    expect(pixel(48, 48)[3]).toBe(255);
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3]! > 0) expect(data[at]).toBeGreaterThan(225);
    }
  });

  test('the side that is up', async () => {
    const turned = await sharp(photo).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const { info, data, job } = await upscaled(turned);
    expect(job.result).toMatchObject({ width: 288, height: 384 });
    const expected = await sharp(turned).autoOrient().resize(288, 384).raw().toBuffer();
    expect(info).toMatchObject({ width: 288, height: 384 });
    expect(difference(data, expected)).toBeLessThan(200);
  });

  test.each([
    ['grey with transparency', () => sharp(photo).resize(20, 16).toColourspace('b-w').ensureAlpha(0.5).png(), 4],
    ['sixteen bits a channel', () => sharp(photo).resize(20, 16).toColourspace('rgb16').png(), 3],
    ['a palette', () => sharp(photo).resize(20, 16).png({ palette: true }), 3],
    ['CMYK', () => sharp(photo).resize(20, 16).toColourspace('cmyk').jpeg(), 3],
    ['WebP', () => sharp(photo).resize(20, 16).webp(), 3],
  ])('%s is read for what it shows', async (_, picture, channels) => {
    const input = await picture().toBuffer();
    const { info, data } = await upscaled(input);
    expect(info).toMatchObject({ width: 40, height: 32, channels });
    const expected = await sharp(input).toColourspace('srgb').resize(40, 32).raw().toBuffer();
    expect(difference(data, expected)).toBeLessThan(400);
  });

  test('a grey picture is grey', async () => {
    const grey = await sharp(photo).resize(40, 30).grayscale().toColourspace('b-w').png().toBuffer();
    const { info, data } = await upscaled(grey);
    expect(info).toMatchObject({ width: 80, height: 60, channels: 3 });
    for (let at = 0; at < data.length; at += 3) {
      expect(Math.abs(data[at]! - data[at + 1]!)).toBeLessThan(12);
    }
  });
});

test('a running upscale stops at its next tile', async () => {
  const studio = await openStudio();
  const large = await sharp(photo).resize(512, 512, { fit: 'fill' }).png().toBuffer();
  const { id } = await studio.accepted({ feature: 'upscale', image: large });
  await expect.poll(async () => (await studio.job(id)).progress.percent, { timeout: 60_000 }).toBeGreaterThan(0);
  await studio.cancel(id);
  const job = await studio.jobWith(id, 'canceled');
  expect(job.progress.percent).toBeLessThan(90);
  const { id: next } = await studio.accepted({ feature: 'upscale' });
  await studio.jobWith(next, 'succeeded');
});

test('a damaged picture fails, with a reason', async () => {
  const studio = await openStudio();
  for (const feature of ['upscale', 'stylize']) {
    const { id } = await studio.accepted({ feature, image: photo.subarray(0, photo.length / 2) });
    expect(await studio.jobWith(id, 'failed')).toMatchObject({ error: 'The picture is damaged.', result: null });
  }
});
