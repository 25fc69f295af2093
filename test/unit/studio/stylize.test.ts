import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { expect, test } from 'vitest';

import { openStudio } from './studio-client.ts';

const photo = await readFile(new URL('../../fixtures/photo.jpg', import.meta.url));

async function stylized(params: unknown, image: Uint8Array = photo) {
  const studio = await openStudio();
  const { id } = await studio.accepted({ feature: 'stylize', params, image });
  await studio.jobWith(id, 'succeeded');
  return (await studio.get(`/api/v1/jobs/${id}/result`)).bytes();
}

test('a sketch is grey and mostly paper', async () => {
  const { channels } = await sharp(await stylized({ style: 'sketch' })).stats();
  const [red, green, blue] = channels.map(({ mean }) => mean);
  expect(red).toBeGreaterThan(170);
  expect(Math.abs(red! - green!) + Math.abs(red! - blue!)).toBeLessThan(2);
});

test('a poster has few colours', async () => {
  const { data } = await sharp(await stylized({ style: 'poster' }))
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const colours = new Set<number>();
  for (let at = 0; at < data.length; at += 3) colours.add(data.readUIntBE(at, 3));
  expect(colours.size).toBeLessThanOrEqual(16);
});

test('a duotone runs from its shadow to its highlight', async () => {
  const picture = await stylized({ style: 'duotone', shadow: '#200040', highlight: '#f0e000' });
  const { channels } = await sharp(picture).stats();
  expect(channels[0]!.min).toBeGreaterThan(0x20 - 16);
  expect(channels[0]!.max).toBeLessThan(0xf0 + 12);
  expect(channels[2]!.max).toBeLessThan(0x40 + 40);
});

test('the picture comes back upright', async () => {
  const turned = await sharp(photo).withMetadata({ orientation: 6 }).jpeg().toBuffer();
  const { width, height } = await sharp(await stylized({ style: 'poster' }, turned)).metadata();
  expect([width, height]).toEqual([144, 192]);
});
