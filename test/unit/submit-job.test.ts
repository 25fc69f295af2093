import sharp from 'sharp';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fingerprintOf, jobIdOf } from '../../lambdas/domain/idempotency.ts';
import { inputKeyOf, states } from '../../lambdas/domain/job.ts';
import { uploadKeyOf } from '../../lambdas/domain/upload.ts';
import { formCall, jsonCall } from '../fixtures/http-calls.ts';
import { formBody, HttpGateway, type Received, type Sent } from '../fixtures/http-gateway.ts';
import { jobInState } from '../fixtures/job-in-state.ts';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';

let photo: Uint8Array;
let otherPhoto: Uint8Array;
let gateway: HttpGateway;

beforeAll(async () => {
  photo = await photoWithPlace(120);
  otherPhoto = await photoWithPlace(121);
});

beforeEach(async () => {
  gateway = new HttpGateway();
  await gateway.grantKey('ann-server');
});

const annsJob = jobIdOf('acme/ann', 'key-1');

const form = (parts: Record<string, string | Uint8Array> = {}, headers: Record<string, string> = {}): Sent =>
  formCall({ image: photo, ...parts }, headers);
const json = jsonCall;

const statusesOf = (answers: readonly Received[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);

const submit = (sent: Sent): Promise<Received> => gateway.call('POST /api/v1/jobs', sent);

async function upload(bytes: Uint8Array, said: Record<string, unknown> = {}): Promise<string> {
  const body = { contentType: 'image/jpeg', bytes: bytes.length, ...said };
  const created = await gateway.call('POST /api/v1/uploads', json(body));
  expect(created.status).toBe(201);
  const { uploadId } = created.body as { uploadId: string };
  await gateway.files.put(uploadKeyOf({ owner: 'acme/ann', id: uploadId }), bytes, 'image/jpeg');
  return uploadId;
}

const uploaded = (uploadId: string, more: Record<string, unknown> = {}): Sent =>
  json({ feature: 'upscale', inputs: { image: { uploadId } }, ...more });

/** Everything that a submit may leave behind. */
const traces = () => ({ jobs: gateway.jobs.all().length, files: gateway.files.keys, rings: gateway.doorbell.rings });

describe('a new submit', () => {
  it('answers 202 with the job and where it is', async () => {
    const { status, headers, body } = await submit(form({ metadata: '{"order":7}' }));
    expect(status).toBe(202);
    expect(headers).toMatchObject({
      Location: `https://api.test/api/v1/jobs/${annsJob}`,
      'Request-Id': 'request-1',
      'Retry-After': '2',
    });
    expect(headers).not.toHaveProperty('Idempotent-Replayed');
    expect(body).toMatchObject({
      id: annsJob,
      status: 'queued',
      done: false,
      feature: 'upscale',
      version: 1,
      metadata: { order: 7 },
      charge: { state: 'none', amount: null, currency: null },
      results: [],
      result: null,
      error: null,
      attention: null,
    });
  });

  it('keeps the job durably, rings its lane, and stores the picture without the place it names', async () => {
    await submit(form({ params: '{"scale":2}' }));
    const job = gateway.jobs.get(annsJob);
    expect(job).toMatchObject({ state: 'queued', owner: 'acme/ann', vendor: 'studio', lane: 'default', rank: 1 });
    expect(gateway.doorbell.rings).toEqual([{ lane: 'default', hint: annsJob, delayMs: 0 }]);
    const input = await gateway.files.get(inputKeyOf(job));
    expect(Buffer.from(photo).includes('Slowphone')).toBe(true);
    expect(Buffer.from(input?.bytes ?? photo).includes('Slowphone')).toBe(false);
    expect(await sharp(input?.bytes).raw().toBuffer()).toEqual(await sharp(photo).raw().toBuffer());
    expect(input?.bytes.length).toBe(job.picture?.bytes);
    expect(await gateway.jobs.readRequest(annsJob, job.submitToken)).toMatchObject({ parameters: { scale: 2 } });
    // Were it to die now, what it stored would have an end, which a job that waits for a person outlives.
    expect(gateway.jobs.keptUntil.get(job.submitToken)).toBe(gateway.clock.now() + 60 * 86_400_000);
  });

  it('costs one read of the job, one put of the picture, three writes and one ring', async () => {
    await submit(form());
    expect(gateway.calls.toSorted()).toEqual([
      'doorbell.ring',
      'files.put',
      'jobs.create',
      'jobs.putRequest',
      'jobs.read',
      'lanes.glance',
      'owners.count',
    ]);
  });

  it('records who confirmed the consent, and when', async () => {
    await submit(form({ feature: 'stylize', consent: 'confirmed' }));
    const { submitToken } = gateway.jobs.get(annsJob);
    const request = await gateway.jobs.readRequest(annsJob, submitToken);
    expect(request?.consent).toEqual({ by: 'ann (key key-ann-server)', at: gateway.clock.now() });
  });

  it('is still 202 when the lane could not be rung: the job is durable', async () => {
    gateway.doorbell.ring = () => Promise.reject(new Error('SQS does not answer.'));
    expect((await submit(form())).status).toBe(202);
    expect(gateway.jobs.get(annsJob).state).toBe('queued');
    expect(gateway.logged).toContainEqual(expect.objectContaining({ event: 'lane_not_rung', lane: 'default' }));
  });

  it('is 503 when the job could not be stored, and the same request succeeds later', async () => {
    const create = gateway.jobs.create.bind(gateway.jobs);
    gateway.jobs.create = () => Promise.reject(new Error('DynamoDB does not answer.'));
    const failed = await submit(form());
    expect(failed).toMatchObject({
      status: 503,
      headers: { 'Retry-After': '2' },
      body: { code: 'try_again_same_key' },
    });
    gateway.jobs.create = create;
    expect((await submit(form())).status).toBe(202);
  });

  it("starts at the lane's virtual time, after the owner's last job", async () => {
    gateway.lanes.put({ ...gateway.lanes.get('default'), virtualTime: 41 });
    await submit(form());
    await submit(form({}, { 'idempotency-key': 'key-2' }));
    expect(gateway.jobs.get(annsJob).rank).toBe(42);
    expect(gateway.jobs.get(jobIdOf('acme/ann', 'key-2')).rank).toBe(43);
  });

  it('knows how long its lane has been closed, so that waiting for it to open does not expire it', async () => {
    const since = gateway.clock.now() - 5_000;
    gateway.lanes.put({ ...gateway.lanes.get('default'), state: 'paused', since, closedMs: 1_000 });
    await submit(form());
    expect(gateway.jobs.get(annsJob).laneClosedMs).toBe(6_000);
  });
});

describe('the same key', () => {
  it.each(states)('with the same request returns the original as it is: %s', async (state) => {
    await submit(form());
    gateway.jobs.put(jobInState(gateway.jobs.get(annsJob), state));
    const before = traces();
    gateway.calls.length = 0;
    const { status, headers, body } = await submit(form());
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'Idempotent-Replayed': 'true',
      Location: `https://api.test/api/v1/jobs/${annsJob}`,
    });
    expect(body).toMatchObject({ id: annsJob, status: state });
    expect(traces()).toEqual(before);
    const effects = ['files.put', 'jobs.create', 'jobs.putRequest', 'jobs.move', 'owners.count', 'doorbell.ring'];
    expect(gateway.calls.filter((call) => effects.includes(call))).toEqual([]);
  });

  it.each([
    ['a limit', () => void (gateway.limits = { activeJobs: 1, submitsPerMinute: 0 })],
    ['a feature that is no longer offered', () => void (gateway.features = {})],
  ])('is not refused by %s', async (_, change) => {
    await submit(form());
    change();
    expect((await submit(form())).status).toBe(200);
    expect((await submit(form({}, { 'idempotency-key': 'key-2' }))).status).toBeGreaterThanOrEqual(400);
  });

  it('finds its job through an upload that has expired, and through one that is gone', async () => {
    const id = await upload(photo);
    expect((await submit(uploaded(id))).status).toBe(202);
    await gateway.files.delete(uploadKeyOf({ owner: 'acme/ann', id }));
    await gateway.clock.advance(48 * 3_600_000);
    expect((await submit(uploaded(id))).status).toBe(200);
    expect((await submit(uploaded('upl_never-seen'))).status).toBe(200);
  });

  it('is the same request in both framings, and through another upload of the same bytes', async () => {
    expect((await submit(form({ params: '{"scale":2}' }))).status).toBe(202);
    const params = { scale: 2 };
    expect((await submit(uploaded(await upload(photo), { params }))).status).toBe(200);
    expect((await submit(uploaded(await upload(photo), { params, metadata: { other: true } }))).status).toBe(200);
  });

  it('takes no parameters and an empty object for the same', async () => {
    await submit(form());
    expect((await submit(form({ params: '{}' }))).status).toBe(200);
  });

  it('is the same key quoted and bare', async () => {
    await submit(form());
    expect((await submit(form({}, { 'idempotency-key': '"key-1"' }))).status).toBe(200);
  });

  it.each([
    ['other parameters', () => form({ params: '{"scale":2}' })],
    ['another feature', () => form({ feature: 'stylize' })],
    ['another picture', () => form({ image: otherPhoto })],
    ['consent', () => form({ consent: 'confirmed' })],
    ['no picture', () => json({ feature: 'upscale' })],
  ])('with %s is refused, names the job and leaves it alone', async (_, other) => {
    await submit(form());
    const before = { ...traces(), job: gateway.jobs.get(annsJob) };
    const { status, body } = await submit(other());
    expect(status).toBe(422);
    expect(body).toMatchObject({ code: 'idempotency_key_reused', jobId: annsJob });
    expect({ ...traces(), job: gateway.jobs.get(annsJob) }).toEqual(before);
  });

  it("with the job's own upload and other parameters is refused, although the bytes are gone", async () => {
    const id = await upload(photo);
    await submit(uploaded(id));
    await gateway.files.delete(uploadKeyOf({ owner: 'acme/ann', id }));
    const { status, body } = await submit(uploaded(id, { params: { scale: 2 } }));
    expect([status, body['code']]).toEqual([422, 'idempotency_key_reused']);
  });

  it('with an upload, gone by now, where the job has no picture is refused', async () => {
    await submit(form());
    const fingerprint = fingerprintOf({ feature: 'upscale', parameters: {}, consent: undefined }, undefined);
    gateway.jobs.put({ ...gateway.jobs.get(annsJob), picture: undefined, fingerprint });
    expect((await submit(uploaded('upl_never-seen'))).body['code']).toBe('idempotency_key_reused');
    expect((await submit(json({ feature: 'upscale' }))).status).toBe(200);
  });

  it('with another upload of other bytes is refused, by the announced hash alone', async () => {
    await submit(form());
    const id = await upload(otherPhoto, { sha256: 'a'.repeat(64) });
    await gateway.files.delete(uploadKeyOf({ owner: 'acme/ann', id }));
    expect((await submit(uploaded(id))).body['code']).toBe('idempotency_key_reused');
  });

  it('of an erased job answers 410, and never buys again', async () => {
    await submit(form());
    const job = jobInState(gateway.jobs.get(annsJob), 'succeeded');
    gateway.jobs.put(job);
    await gateway.jobs.erase(job, gateway.clock.now());
    const { status, body } = await submit(form());
    expect([status, body['code']]).toEqual([410, 'job_gone']);
    expect(gateway.doorbell.rings).toHaveLength(1);
  });

  it('is another job for another user', async () => {
    await submit(form());
    const { status, body } = await submit(form({}, { 'slowlane-user': 'bob' }));
    expect(status).toBe(202);
    expect(body['id']).not.toBe(annsJob);
  });
});

describe('requests with one key at the same time', () => {
  const openNow = (id: string) => ({ id, since: gateway.clock.now() });

  it('make one job, whose picture and request are the only ones left', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => submit(form())));
    expect(statusesOf(answers)).toEqual([200, 200, 200, 200, 200, 200, 200, 202]);
    expect(new Set(answers.map(({ body }) => body['id']))).toEqual(new Set([annsJob]));
    const job = gateway.jobs.get(annsJob);
    expect(gateway.files.keys).toEqual([inputKeyOf(job)]);
    expect(gateway.doorbell.rings).toHaveLength(1);
  });

  it.each([
    ['a limit', () => ({ kind: 'limited', retryAfterMs: 1_000 }) as const],
    ['active jobs', () => ({ kind: 'full', open: { jobs: [openNow('job_other')], revision: 1 } }) as const],
  ])(
    'do not see the refusal by %s that another one caused: the job is read once more before it',
    async (_, refusal) => {
      gateway.limits = { activeJobs: 1, submitsPerMinute: 60 };
      const count = gateway.owners.count.bind(gateway.owners);
      let isFirst = true;
      gateway.owners.count = async (...given) => {
        if (!isFirst) return count(...given);
        isFirst = false;
        expect((await submit(form())).status).toBe(202);
        return refusal();
      };
      const late = await submit(form());
      expect([late.status, late.headers['Idempotent-Replayed']]).toEqual([200, 'true']);
    },
  );

  it('are told apart when they differ: one wins, the other is a mismatch', async () => {
    const answers = await Promise.all([submit(form()), submit(form({ image: otherPhoto }))]);
    expect(statusesOf(answers)).toEqual([202, 422]);
    expect(gateway.files.keys).toEqual([inputKeyOf(gateway.jobs.get(annsJob))]);
  });
});

describe('a refusal', () => {
  const heic = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypheic\0\0\0\0mif1heic')]);

  it.each([
    ['no key', () => form({}, { 'idempotency-key': '' }), 400, 'idempotency_key_required'],
    ['a malformed key', () => form({}, { 'idempotency-key': 'two words' }), 400, 'idempotency_key_invalid'],
    ['an unknown feature', () => form({ feature: 'undress' }), 400, 'feature_unknown'],
    ['parameters that do not fit', () => form({ params: '{"scale":8}' }), 422, 'parameters_invalid'],
    ['an unknown parameter', () => form({ params: '{"skale":2}' }), 422, 'parameters_invalid'],
    ['parameters that are no JSON', () => form({ params: '{' }), 400, 'body_malformed'],
    [
      'parameters nested too deep',
      () => form({ params: `{"a":${'['.repeat(40)}${']'.repeat(40)}}` }),
      400,
      'body_malformed',
    ],
    ['an unknown field', () => form({ fature: 'upscale' }), 400, 'request_invalid'],
    ['no consent', () => form({ feature: 'stylize' }), 422, 'consent_required'],
    ['another word for consent', () => form({ feature: 'stylize', consent: 'yes' }), 422, 'consent_required'],
    [
      'metadata that is too large',
      () => form({ metadata: JSON.stringify({ a: 'x'.repeat(2_000) }) }),
      400,
      'request_invalid',
    ],
    ['no picture', () => json({ feature: 'upscale' }), 422, 'image_required'],
    ['a picture of HEIC', () => form({ image: heic }), 415, 'image_type_unsupported'],
    ['a damaged picture', () => form({ image: photo.subarray(0, 200) }), 422, 'image_unreadable'],
    ['an unknown upload', () => uploaded('upl_unknown'), 422, 'upload_not_found'],
    [
      'a body of another kind',
      () => ({ ...form(), headers: { ...form().headers, 'content-type': 'text/plain' } }),
      415,
      'media_type_unsupported',
    ],
    ['no credentials', () => form({}, { 'x-api-key': 'nobody' }), 401, 'credentials_invalid'],
  ] as const)('for %s leaves nothing behind and does not use up the key', async (_, sent, status, code) => {
    const refused = await submit(sent());
    expect(refused).toMatchObject({ status, body: { code } });
    expect(refused.headers['Content-Type']).toBe('application/problem+json');
    expect(traces()).toEqual({ jobs: 0, files: [], rings: [] });
    expect((await submit(form())).status).toBe(202);
  });

  it('for too many pixels says how many are taken', async () => {
    const large = await sharp({ create: { width: 600, height: 600, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const { status, body } = await submit(form({ image: new Uint8Array(large) }));
    expect([status, body['code']]).toEqual([422, 'image_too_many_pixels']);
    expect(body['detail']).toContain('262144');
  });

  it('tells which upload can still be mended', async () => {
    const early = await gateway.call('POST /api/v1/uploads', json({ contentType: 'image/jpeg', bytes: photo.length }));
    const { uploadId } = early.body as { uploadId: string };
    expect((await submit(uploaded(uploadId))).body['code']).toBe('upload_incomplete');
    await gateway.files.put(uploadKeyOf({ owner: 'acme/ann', id: uploadId }), photo.subarray(1), 'image/jpeg');
    expect((await submit(uploaded(uploadId))).body['code']).toBe('upload_mismatch');
    await gateway.clock.advance(25 * 3_600_000);
    expect((await submit(uploaded(uploadId))).body['code']).toBe('upload_expired');
  });

  it('meets an upload whose bytes are not the announced ones, and one of another owner', async () => {
    const announced = await upload(photo, { sha256: 'b'.repeat(64) });
    expect((await submit(uploaded(announced))).body['code']).toBe('upload_mismatch');
    const bobs = { ...uploaded(await upload(photo)) };
    const { body } = await submit({ ...bobs, headers: { ...bobs.headers, 'slowlane-user': 'bob' } });
    expect(body['code']).toBe('upload_not_found');
  });

  it('for the rate says when to come back', async () => {
    gateway.limits = { activeJobs: 100, submitsPerMinute: 1 };
    await submit(form());
    const refused = await submit(form({}, { 'idempotency-key': 'key-2' }));
    expect(refused).toMatchObject({
      status: 429,
      body: { code: 'submit_rate_limit' },
      headers: { 'Retry-After': '60' },
    });
  });

  it('for too many unfinished jobs ends when one of them does', async () => {
    gateway.limits = { activeJobs: 1, submitsPerMinute: 60 };
    await submit(form());
    const second = form({}, { 'idempotency-key': 'key-2' });
    expect((await submit(second)).body['code']).toBe('active_jobs_limit');
    gateway.jobs.put(jobInState(gateway.jobs.get(annsJob), 'succeeded'));
    expect((await submit(second)).status).toBe(202);
  });

  const nth = (number: number) => form({}, { 'idempotency-key': `key-${number}` });

  it('for too many unfinished jobs is exact, of many at once and on the next day', async () => {
    gateway.limits = { activeJobs: 3, submitsPerMinute: 60 };
    const answers = await Promise.all(Array.from({ length: 9 }, (_, number) => submit(nth(number))));
    expect(statusesOf(answers)).toEqual([202, 202, 202, 429, 429, 429, 429, 429, 429]);
    expect(traces().jobs).toBe(3);
    await gateway.clock.advance(86_400_000);
    expect((await submit(nth(10))).body['code']).toBe('active_jobs_limit');
  });

  it('for too many unfinished jobs is limited itself: each one reads what may have ended', async () => {
    gateway.limits = { activeJobs: 1, submitsPerMinute: 4 };
    const answers: Received[] = [];
    for (let number = 0; number < 6; number += 1) answers.push(await submit(nth(number)));
    const full = 'active_jobs_limit';
    const spent = 'submit_rate_limit';
    expect(answers.map(({ body }) => body['code'])).toEqual([undefined, full, full, full, spent, spent]);
  });

  it('for too many unfinished jobs lets in no more than have ended, of many at once', async () => {
    gateway.limits = { activeJobs: 60, submitsPerMinute: 1_000 };
    for (let number = 0; number < 60; number += 1) await submit(nth(number));
    const ended = [...gateway.jobs.all()].slice(40, 42);
    for (const job of ended) gateway.jobs.put(jobInState(job, 'succeeded'));
    const answers = await Promise.all(Array.from({ length: 5 }, (_, number) => submit(nth(100 + number))));
    expect(statusesOf(answers)).toEqual([202, 202, 429, 429, 429]);
  });

  it('for too many unfinished jobs counts a submit that died for a minute, and its own retry not at all', async () => {
    gateway.limits = { activeJobs: 1, submitsPerMinute: 60 };
    const create = gateway.jobs.create.bind(gateway.jobs);
    gateway.jobs.create = () => Promise.reject(new Error('The table does not answer.'));
    expect((await submit(nth(1))).status).toBeGreaterThanOrEqual(500);
    expect((await submit(nth(1))).status).toBeGreaterThanOrEqual(500);
    gateway.jobs.create = create;
    expect((await submit(nth(2))).body['code']).toBe('active_jobs_limit');
    await gateway.clock.advance(60_000);
    expect((await submit(nth(2))).status).toBe(202);
  });
});

describe('a client token', () => {
  it('submits for its user, only what it was minted for, and no more than it may', async () => {
    await gateway.grantKey('minting', 'acme', ['tokens']);
    const minted = await gateway.call('POST /api/v1/client-tokens', {
      headers: { 'x-api-key': 'minting', 'content-type': 'application/json' },
      body: JSON.stringify({ user: 'ann', expiresInSeconds: 600, features: ['upscale'], maxJobs: 1 }),
    });
    expect(minted.status).toBe(201);
    const send = (parts: Record<string, string>, key: string): Promise<Received> => {
      const { body, headers } = formBody({ feature: 'upscale', image: photo, ...parts });
      const authorization = `Bearer ${String(minted.body['token'])}`;
      return submit({ body, headers: { ...headers, authorization, 'idempotency-key': key } });
    };
    expect((await send({ feature: 'stylize', consent: 'confirmed' }, 'key-0')).body['code']).toBe(
      'feature_not_allowed',
    );
    expect((await send({}, 'key-1')).body['id']).toBe(annsJob);
    expect((await send({}, 'key-2')).body['code']).toBe('active_jobs_limit');
  });
});
