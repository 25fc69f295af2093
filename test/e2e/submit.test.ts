import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { expectStatus, problemOf } from './harness/api.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 120_000 });

let slowlane: Slowlane;
beforeAll(async () => {
  slowlane = await startSlowlane({ vendor: { sendTimeoutMs: 2_000 }, limits: { submitsPerMinute: 1_000 } });
  expectStatus(await slowlane.operator.changeLane({ cap: 8 }), 200);
});
afterAll(async () => {
  await slowlane.stop();
});

describe('one user action, sent many times', () => {
  it('is one job and one purchase, fifty times at once', async () => {
    const { api, studio } = slowlane;
    const action = { feature: 'stylize', picture: await drawPicture(1), key: 'impatient' } as const;
    const answers = await Promise.all(Array.from({ length: 50 }, () => api.submit(action)));
    expect(new Set(answers.map(({ job }) => job.id)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    const id = answers[0]?.job.id ?? '';
    expect(await api.done(id)).toMatchObject({ status: 'succeeded' });
    expect(await studio.acceptedFor(id)).toHaveLength(1);
    // The losers' pictures and requests are gone.
    const requests = (await slowlane.tracesOf(id)).filter((item) => item.includes('request#'));
    expect(requests).toHaveLength(1);
  });

  it('is one of two when two requests fight for one key', async () => {
    const { api, studio } = slowlane;
    const [one, other] = await Promise.all([drawPicture(2), drawPicture(3)]);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        api.trySubmit({ feature: 'stylize', picture: index % 2 === 0 ? one : other, key: 'fought-for' }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 200, 422]));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(10);
    const winner = answers.find(({ status }) => status === 202)?.job.id ?? '';
    expect(await api.done(winner)).toMatchObject({ status: 'succeeded' });
    expect(await studio.acceptedFor(winner)).toHaveLength(1);
  });
});

describe('a picture that is uploaded first', () => {
  it('is what the vendor gets, and is found again by its key', async () => {
    const { api, studio } = slowlane;
    const picture = await drawPicture(4, { width: 64, height: 48 });
    const uploadId = await api.upload(picture);
    const submitted = await api.submitUpload('stylize', uploadId, 'uploaded');
    expect(submitted.status).toBe(202);
    const done = await api.done(submitted.job.id);
    expect(done).toMatchObject({ status: 'succeeded', result: { width: 64, height: 48 } });
    const again = await api.submitUpload('stylize', uploadId, 'uploaded');
    expect([again.status, again.job.id]).toEqual([200, submitted.job.id]);
    // An app that was killed has only its key: it uploads once more.
    const later = await api.submitUpload('stylize', await api.upload(picture), 'uploaded');
    expect([later.status, later.job.id]).toEqual([200, submitted.job.id]);
    expect(await studio.acceptedFor(submitted.job.id)).toHaveLength(1);
  });

  it('must be there, be its owner’s, and be what was announced', async () => {
    const { api, operator } = slowlane;
    const missing = await api.submitUpload('stylize', 'upl_nobody');
    expect(problemOf(missing)).toMatchObject({ status: 422, code: 'upload_not_found' });
    const uploadId = await api.upload(await drawPicture(5));
    const stolen = await operator.as('thief').submitUpload('stylize', uploadId);
    expect(problemOf(stolen)).toMatchObject({ status: 422, code: 'upload_not_found' });
    const heic = await api.sendJson('POST', '/api/v1/uploads', { contentType: 'image/heic', bytes: 1_000 });
    expect(problemOf(heic)).toMatchObject({ status: 415, code: 'image_type_unsupported' });
    // More bytes than announced are refused by the form itself.
    const announced = await api.sendJson('POST', '/api/v1/uploads', { contentType: 'image/png', bytes: 100 });
    const { url, fields } = expectStatus(announced, 201) as { url: string; fields: Record<string, string> };
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set('file', new Blob([Buffer.alloc(2_000)], { type: 'image/png' }));
    expect((await fetch(url, { method: 'POST', body: form })).status).toBe(400);
  });
});
