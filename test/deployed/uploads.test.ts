import { createHash, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { newUser, type Api } from './api.ts';
import { finished, jobOf, photoFeature, readPhoto } from './jobs.ts';
import { expectProblem } from './problem.ts';

const uploadSchema = z.object({
  uploadId: z.string(),
  method: z.literal('POST'),
  url: z.url(),
  headers: z.record(z.string(), z.string()),
  fields: z.record(z.string(), z.string()),
  maxBytes: z.int(),
  expiresAt: z.iso.datetime(),
});
type Upload = z.infer<typeof uploadSchema>;

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function askForUpload(api: Api, photo: Uint8Array): Promise<Upload> {
  const json = { contentType: 'image/jpeg', bytes: photo.byteLength, sha256: sha256Of(photo) };
  const answer = await api.call('POST', '/api/v1/uploads', { json });
  expect({ status: answer.status, body: answer.text }).toMatchObject({ status: 201 });
  return uploadSchema.parse(answer.json());
}

async function send({ url, method, headers, fields }: Upload, photo: Uint8Array<ArrayBuffer>): Promise<number> {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  body.set('file', new Blob([photo], { type: 'image/jpeg' }));
  const answer = await fetch(url, { method, headers, body });
  await answer.body?.cancel();
  return answer.status;
}

async function submitUpload(api: Api, uploadId: string, key = randomUUID()) {
  const feature = await photoFeature('stylize');
  const consent = feature.consent === 'required' ? { consent: 'confirmed' } : {};
  const json = { feature: feature.name, inputs: { image: { uploadId } }, ...consent };
  return api.call('POST', '/api/v1/jobs', { headers: { 'Idempotency-Key': key }, json });
}

test('a photo goes straight to storage, and then becomes a picture', async () => {
  const { api } = await newUser();
  const photo = await readPhoto();
  const upload = await askForUpload(api, photo);

  expect(await send(upload, photo)).toBe(204);
  const { id } = jobOf(await submitUpload(api, upload.uploadId), 202);

  expect(await finished(api, id)).toMatchObject({ status: 'succeeded' });
});

test('an app that was killed uploads again, and finds its job', async () => {
  const { api } = await newUser();
  const photo = await readPhoto();
  const key = randomUUID();
  const [first, second] = [await askForUpload(api, photo), await askForUpload(api, photo)];
  await send(first, photo);
  await send(second, photo);

  const { id } = jobOf(await submitUpload(api, first.uploadId, key), 202);
  const again = await submitUpload(api, second.uploadId, key);

  expect(jobOf(again, 200).id).toBe(id);
  await finished(api, id);
});

test('storage takes the announced bytes, and no others', async () => {
  const { api } = await newUser();
  const photo = await readPhoto();

  expect(await send(await askForUpload(api, photo), Buffer.concat([photo, Buffer.from('x')]))).toBe(400);
  const upload = await askForUpload(api, photo);
  const elsewhere = { ...upload, fields: { ...upload.fields, key: `${upload.fields['key']}x` } };
  expect(await send(elsewhere, photo)).toBe(403);
});

test('what has not arrived can not be submitted, and uses up no key', async () => {
  const { api } = await newUser();
  const photo = await readPhoto();
  const key = randomUUID();
  const upload = await askForUpload(api, photo);

  expectProblem(await submitUpload(api, upload.uploadId, key), 422, 'upload_incomplete');
  await send(upload, photo);
  const { id } = jobOf(await submitUpload(api, upload.uploadId, key), 202);
  await finished(api, id);
});

test("another user's upload is not there", async () => {
  const [owner, stranger] = [await newUser(), await newUser()];
  const photo = await readPhoto();
  const upload = await askForUpload(owner.api, photo);
  await send(upload, photo);

  expectProblem(await submitUpload(stranger.api, upload.uploadId), 422, 'upload_not_found');
});

test('a kind that is not taken is refused before it is sent', async () => {
  const { api } = await newUser();

  const answer = await api.call('POST', '/api/v1/uploads', { json: { contentType: 'image/heic', bytes: 1000 } });

  expectProblem(answer, 415, 'image_type_unsupported');
});
