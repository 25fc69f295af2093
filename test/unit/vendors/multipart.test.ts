import { expect, it } from 'vitest';
import { multipart } from '../../../lambdas/vendors/multipart.ts';

const parts = [
  { name: 'feature', content: 'upscale — größer' },
  { name: 'image', fileName: 'image.png', contentType: 'image/png', content: Buffer.from([0, 13, 10, 45, 45, 255]) },
];

it('is read by the platform as it was written', async () => {
  const { contentType, body } = multipart(parts);
  const form = await new Response(Buffer.from(body), { headers: { 'content-type': contentType } }).formData();
  expect(form.get('feature')).toBe('upscale — größer');
  const image = form.get('image') as File;
  expect([image.name, image.type]).toEqual(['image.png', 'image/png']);
  expect([...new Uint8Array(await image.arrayBuffer())]).toEqual([0, 13, 10, 45, 45, 255]);
});

it('is the same bytes for the same parts, and another boundary for others', () => {
  expect(multipart(parts)).toEqual(multipart(parts));
  expect(multipart(parts).contentType).not.toBe(multipart(parts.slice(1)).contentType);
});
