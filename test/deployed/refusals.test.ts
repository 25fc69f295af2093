import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { anybody, Api, newUser, server } from './api.ts';
import { formOf, newSubmission, photoFeature, submit } from './jobs.ts';
import { expectProblem } from './problem.ts';

const unknownJob = `/api/v1/jobs/job_${'a'.repeat(52)}`;

test('nobody gets in without credentials', async () => {
  const answer = await anybody.call('GET', '/api/v1/jobs');

  expectProblem(answer, 401, 'credentials_missing');
  expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /);
});

test('an unknown key does not get in', async () => {
  const stranger = new Api({ kind: 'key', key: `sl_test_${randomUUID()}` });

  expectProblem(await stranger.call('GET', '/api/v1/jobs'), 401, 'credentials_invalid');
});

test('a forged token does not get in', async () => {
  const { api } = await newUser();
  const [header, payload] = api.headers['Authorization']!.replace('Bearer ', '').split('.');
  const forger = new Api({ kind: 'token', token: `${header}.${payload}.${'A'.repeat(43)}` });

  expectProblem(await forger.call('GET', '/api/v1/jobs'), 401, 'credentials_invalid');
});

test('two kinds of credentials are one too many', async () => {
  const { api } = await newUser();

  const answer = await server.call('GET', '/api/v1/jobs', { headers: api.headers });

  expectProblem(answer, 400, 'credentials_ambiguous');
});

test('a token for some features buys no other', async () => {
  const [allowed, other] = [await photoFeature('stylize'), await photoFeature('upscale')];
  const { api } = await newUser({ features: [allowed.name] });

  const answer = await submit(api, { ...(await newSubmission()), feature: { ...other, name: 'upscale' } });

  expectProblem(answer, 403, 'feature_not_allowed');
});

test("a user's token mints no tokens and operates nothing", async () => {
  const { api, name } = await newUser();

  expectProblem(
    await api.call('POST', '/api/v1/client-tokens', { json: { user: name, expiresInSeconds: 900 } }),
    403,
    'forbidden',
  );
  expectProblem(await api.call('GET', '/api/v1/operator/lanes'), 403, 'forbidden');
});

test('a job that is not there is not found', async () => {
  const { api } = await newUser();

  for (const [method, path] of [
    ['GET', unknownJob],
    ['GET', `${unknownJob}/result`],
    ['POST', `${unknownJob}/cancel`],
    ['DELETE', unknownJob],
  ] as const) {
    expectProblem(await api.call(method, path), 404, 'job_not_found');
  }
});

test('a submit needs a key, a body that is taken, and a feature that exists', async () => {
  const { api } = await newUser();
  const submission = await newSubmission();
  const withKey = { 'Idempotency-Key': randomUUID() };
  const { body } = formOf(submission);

  expectProblem(await api.call('POST', '/api/v1/jobs', { body: body! }), 400, 'idempotency_key_required');
  expectProblem(
    await api.call('POST', '/api/v1/jobs', { headers: { 'Idempotency-Key': 'a b' }, body: formOf(submission).body! }),
    400,
    'idempotency_key_invalid',
  );
  expectProblem(
    await api.call('POST', '/api/v1/jobs', { headers: { ...withKey, 'Content-Type': 'text/plain' }, body: 'hello' }),
    415,
    'media_type_unsupported',
  );
  expectProblem(
    await api.call('POST', '/api/v1/jobs', {
      headers: { ...withKey, 'Content-Type': 'application/json' },
      body: '{"feature":',
    }),
    400,
    'body_malformed',
  );
  const unknown = await api.call('POST', '/api/v1/jobs', { headers: withKey, json: { feature: 'no-such-feature' } });
  expectProblem(unknown, 400, 'feature_unknown');
  const invalid = await api.call('POST', '/api/v1/jobs', { headers: withKey, json: { nothing: true } });
  expect(expectProblem(invalid, 400, 'request_invalid')['errors']).toEqual(
    expect.arrayContaining([{ field: 'feature', message: expect.any(String) }]),
  );
});

test('a refused submit does not use up its key', async () => {
  const { api } = await newUser();
  const submission = await newSubmission();
  const headers = { 'Idempotency-Key': submission.key };

  const refused = await api.call('POST', '/api/v1/jobs', { headers, json: { feature: 'no-such-feature' } });
  const byKey = await api.call('GET', '/api/v1/jobs/by-key', { headers });

  expectProblem(refused, 400, 'feature_unknown');
  expectProblem(byKey, 404, 'job_not_found');
});

test('what is no picture is refused by its bytes, whatever it calls itself', async () => {
  const { api } = await newUser();

  const answer = await submit(api, { ...(await newSubmission()), photo: Uint8Array.from(Buffer.from('<svg/>')) });

  expect(answer.status).toBeGreaterThanOrEqual(415);
  expect(['image_type_unsupported', 'image_unreadable']).toContain((answer.json() as { code: string }).code);
});
