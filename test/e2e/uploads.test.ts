import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { expectStatus, problemOf } from './harness/api.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 120_000 });

let slowlane: Slowlane;
beforeAll(async () => {
  slowlane = await startSlowlane({ limits: { submitsPerMinute: 1_000 }, reconcileEverySeconds: 3_600 });
  expectStatus(await slowlane.operator.changeLane({ cap: 8 }), 200);
});
afterAll(async () => {
  await slowlane.stop();
});

const formSchema = z.object({
  uploadId: z.string(),
  url: z.string(),
  fields: z.record(z.string(), z.string()),
  maxBytes: z.number(),
});
type Form = z.infer<typeof formSchema>;

async function announce(announced: { contentType: string; bytes: number; sha256?: string }): Promise<Form> {
  return formSchema.parse(expectStatus(await slowlane.api.sendJson('POST', '/api/v1/uploads', announced), 201));
}

/** Sends a form with some of its fields changed. @returns what the store said. */
async function store(
  { url, fields }: Form,
  bytes: Uint8Array<ArrayBuffer>,
  changed: Record<string, string> = {},
): Promise<{ status: number; code: string | undefined }> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...fields, ...changed })) form.set(name, value);
  form.set('file', new Blob([bytes]));
  const answer = await fetch(url, { method: 'POST', body: form });
  return { status: answer.status, code: /<Code>(\w+)<\/Code>/.exec(await answer.text())?.[1] };
}

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('a picture that is announced', () => {
  it('is refused before a byte of it is sent where nothing takes it', async () => {
    const { api } = slowlane;
    const heic = await api.sendJson('POST', '/api/v1/uploads', { contentType: 'image/heic', bytes: 1_000 });
    expect(problemOf(heic)).toMatchObject({ status: 415, code: 'image_type_unsupported' });
    const huge = await api.sendJson('POST', '/api/v1/uploads', { contentType: 'image/png', bytes: 1_000_000_000 });
    expect(problemOf(huge)).toMatchObject({ status: 413, code: 'image_too_large' });
    const nothing = await api.sendJson('POST', '/api/v1/uploads', { contentType: 'image/png', bytes: 0 });
    expect(problemOf(nothing)).toMatchObject({ status: 400, code: 'request_invalid' });
  });

  it('is taken by the store only in the size, of the type and under the name that were announced', async () => {
    const picture = await drawPicture(1);
    const form = await announce({ contentType: 'image/png', bytes: picture.byteLength });
    const longer = Buffer.concat([picture, Buffer.alloc(1)]);
    const elsewhere = `${form.fields['key'] ?? ''}-elsewhere`;
    expect(
      await Promise.all([
        store(form, longer),
        store(form, picture.subarray(1)),
        store(form, picture, { 'Content-Type': 'image/jpeg' }),
        store(form, picture, { key: elsewhere }),
        store(form, picture, {
          policy: Buffer.from('{"expiration":"2999-01-01T00:00:00Z","conditions":[]}').toString('base64'),
        }),
      ]),
    ).toEqual([
      { status: 400, code: 'EntityTooLarge' },
      { status: 400, code: 'EntityTooSmall' },
      { status: 403, code: 'AccessDenied' },
      { status: 403, code: 'AccessDenied' },
      { status: 403, code: 'SignatureDoesNotMatch' },
    ]);
    expect(await slowlane.filesOf(form.uploadId)).toEqual([]);
    const early = await slowlane.api.submitUpload('stylize', form.uploadId, 'early');
    expect(problemOf(early)).toMatchObject({ status: 422, code: 'upload_incomplete' });
    // The refused submit did not use its key up.
    expect((await store(form, picture)).status).toBeLessThan(300);
    const { status, job } = await slowlane.api.submitUpload('stylize', form.uploadId, 'early');
    expect(status).toBe(202);
    expect(await slowlane.api.done(job.id)).toMatchObject({ status: 'succeeded' });
  });

  it('must have the hash that was announced', async () => {
    const { api, studio } = slowlane;
    const [announced, other] = await Promise.all([drawPicture(2), drawPicture(3)]);
    const bytes = other.byteLength;
    const form = await announce({ contentType: 'image/png', bytes, sha256: sha256Of(announced) });
    expect((await store(form, other)).status).toBeLessThan(300);
    const before = await studio.ledger();
    const swapped = await api.submitUpload('stylize', form.uploadId);
    expect(problemOf(swapped)).toMatchObject({ status: 422, code: 'upload_mismatch' });
    expect((await studio.ledger()).posts).toBe(before.posts);
  });
});

describe('one action in two framings', () => {
  it('is one job, whichever comes first, while the bytes are the same', async () => {
    const { api, studio } = slowlane;
    const [picture, other] = await Promise.all([drawPicture(4), drawPicture(5)]);
    const [uploadId, otherUploadId] = await Promise.all([api.upload(picture), api.upload(other)]);
    const uploadedFirst = await api.submitUpload('stylize', uploadId, 'uploaded-first');
    const sentFirst = await api.submit({ feature: 'stylize', picture, key: 'sent-first' });
    const repeats = await Promise.all([
      api.submit({ feature: 'stylize', picture, key: 'uploaded-first' }),
      api.submitUpload('stylize', uploadId, 'sent-first'),
    ]);
    expect(repeats.map(({ status, job }) => [status, job.id])).toEqual([
      [200, uploadedFirst.job.id],
      [200, sentFirst.job.id],
    ]);
    const mismatches = await Promise.all([
      api.trySubmit({ feature: 'stylize', picture: other, key: 'uploaded-first' }),
      api.submitUpload('stylize', otherUploadId, 'sent-first'),
    ]);
    expect(mismatches.map((answer) => problemOf(answer).code)).toEqual(mismatches.map(() => 'idempotency_key_reused'));
    for (const { job } of [uploadedFirst, sentFirst]) {
      expect(await api.done(job.id)).toMatchObject({ status: 'succeeded' });
      expect(await studio.acceptedFor(job.id)).toHaveLength(1);
    }
  });

  it('is one job, one purchase and one stored picture, fifty times at once', async () => {
    const { api, studio } = slowlane;
    const picture = await drawPicture(6);
    const key = 'tapped-and-tapped';
    const [uploadId, again] = await Promise.all([api.upload(picture), api.upload(picture)]);
    const { posts } = await studio.ledger();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => {
        if (index % 3 === 0) return api.submit({ feature: 'stylize', picture, key });
        return api.submitUpload('stylize', index % 3 === 1 ? uploadId : again, key);
      }),
    );
    expect(new Set(answers.map(({ job }) => job.id)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(49);
    const id = answers[0]?.job.id ?? '';
    expect(await api.done(id)).toMatchObject({ status: 'succeeded' });
    expect((await studio.ledger()).posts).toBe(posts + 1);
    expect((await slowlane.filesOf(id)).filter((name) => name.startsWith('inputs/'))).toHaveLength(1);
  });
});
