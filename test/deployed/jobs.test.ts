import { randomUUID } from 'node:crypto';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { newUser, server, type User } from './api.ts';
import { finished, formOf, jobOf, jobSchema, newSubmission, read, submit, submitted } from './jobs.ts';
import type { Job, Submission } from './jobs.ts';
import { expectProblem } from './problem.ts';
import { target } from './target.ts';

const listSchema = z.object({ jobs: z.array(jobSchema), nextCursor: z.string().nullable() });

describe('a photo that becomes a picture', () => {
  let user: User;
  let submission: Submission;
  let accepted: Job;
  let location: string | null;
  let done: Job;

  beforeAll(async () => {
    user = await newUser();
    submission = { ...(await newSubmission()), metadata: { album: 'suite', order: 1 } };
    const answer = await submit(user.api, submission);
    accepted = jobOf(answer, 202);
    location = answer.headers.get('location');
    done = await finished(user.api, accepted.id);
  });

  test('is accepted at once, and named', () => {
    expect(accepted).toMatchObject({ done: false, feature: submission.feature.name, result: null, error: null });
    expect(location).toBe(`${target.url}/api/v1/jobs/${accepted.id}`);
  });

  test('ends succeeded, with all that was promised', () => {
    expect(done).toMatchObject({ id: accepted.id, status: 'succeeded', error: null, attention: null, queue: null });
    expect(done.version).toBeGreaterThan(accepted.version);
    expect(done.charge.state).toBe('certain');
    expect(done.metadata).toEqual(submission.metadata);
    expect(done.results[0]).toEqual(done.result);
    expect(Date.parse(done.expiresAt!)).toBeGreaterThan(Date.now());
    const times = [done.createdAt, done.startedAt!, done.finishedAt!].map((time) => Date.parse(time));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test('its link leads to the picture that it describes', async () => {
    const answer = await fetch(done.result!.url);
    const bytes = Buffer.from(await answer.arrayBuffer());

    expect(answer.status).toBe(200);
    expect(bytes.length).toBe(done.result!.bytes);
    expect(answer.headers.get('content-type')).toBe(done.result!.contentType);
    expect(await sharp(bytes).metadata()).toMatchObject({ width: done.result!.width, height: done.result!.height });
  });

  test('its link works for nobody who changes it', async () => {
    const changed = new URL(done.result!.url);
    changed.pathname = changed.pathname.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));

    expect((await fetch(changed)).status).toBe(403);
  });

  test('a page of any origin may draw it', async () => {
    const answer = await fetch(done.result!.url, { headers: { Origin: 'https://anywhere.example' } });
    await answer.body?.cancel();

    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  });

  test('its result is a redirect, or JSON where that is asked for', async () => {
    const path = `/api/v1/jobs/${done.id}/result`;

    const redirect = await user.api.call('GET', path);
    const json = await user.api.call('GET', path, { headers: { Accept: 'application/json' } });

    expect(redirect.status).toBe(302);
    expect((await fetch(redirect.headers.get('location')!)).status).toBe(200);
    expect(json.status).toBe(200);
    expect(json.json()).toMatchObject({ url: expect.stringMatching(/^https?:/), expiresAt: expect.any(String) });
  });

  test('the same key and request is the same job, in its present state', async () => {
    const answer = await submit(user.api, submission);

    const replayed = jobOf(answer, 200);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(replayed).toMatchObject({ id: done.id, status: 'succeeded', version: done.version });
  });

  test('the same key and another request is refused, and changes nothing', async () => {
    const other = { ...submission, metadata: { album: 'other' } };
    const form = formOf(submission);
    (form.body as FormData).set('params', JSON.stringify({ unheard: 'of' }));

    const mismatch = await user.api.call('POST', '/api/v1/jobs', form);
    const metadataOnly = await submit(user.api, other);

    expect(expectProblem(mismatch, 422, 'idempotency_key_reused')['jobId']).toBe(done.id);
    // Metadata is not what is bought: it makes no other request, and the first one's stays.
    expect(jobOf(metadataOnly, 200).metadata).toEqual(submission.metadata);
    expect((await read(user.api, done.id)).version).toBe(done.version);
  });

  test('the key finds the job, quoted or bare', async () => {
    for (const key of [submission.key, `"${submission.key}"`]) {
      const answer = await user.api.call('GET', '/api/v1/jobs/by-key', { headers: { 'Idempotency-Key': key } });
      expect(jobOf(answer, 200).id).toBe(done.id);
    }
  });

  test('another user neither sees nor touches it, by id or by key', async () => {
    const stranger = (await newUser()).api;
    const headers = { 'Idempotency-Key': submission.key };

    for (const [method, path] of [
      ['GET', `/api/v1/jobs/${done.id}`],
      ['GET', `/api/v1/jobs/${done.id}/result`],
      ['POST', `/api/v1/jobs/${done.id}/cancel`],
      ['DELETE', `/api/v1/jobs/${done.id}`],
      ['GET', '/api/v1/jobs/by-key'],
    ] as const) {
      expectProblem(await stranger.call(method, path, { headers }), 404, 'job_not_found');
    }
    expect(listSchema.parse((await stranger.call('GET', '/api/v1/jobs')).json()).jobs).toEqual([]);
  });

  test("the tenant's server sees it, and may act for the user", async () => {
    const asServer = await server.call('GET', `/api/v1/jobs/${done.id}`);
    const asUser = await server.call('GET', '/api/v1/jobs', { headers: { 'Slowlane-User': user.name } });

    expect(jobOf(asServer, 200).id).toBe(done.id);
    expect(listSchema.parse(asUser.json()).jobs.map(({ id }) => id)).toEqual([done.id]);
  });

  test('canceling what is done changes nothing', async () => {
    const job = jobOf(await user.api.call('POST', `/api/v1/jobs/${done.id}/cancel`), 200);

    expect(job).toMatchObject({ status: 'succeeded', version: done.version, cancelRequestedAt: null });
  });
});

test('a list is newest first and paged, each job once', async () => {
  const { api } = await newUser();
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) ids.push((await submitted(api, await newSubmission())).id);

  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = listSchema.parse((await api.call('GET', `/api/v1/jobs?limit=2${query}`)).json());
    seen.push(...page.jobs.map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor !== null);

  expect(seen).toEqual(ids.toReversed());
  expectProblem(await api.call('GET', '/api/v1/jobs?cursor=forged'), 400, 'cursor_invalid');
  expectProblem(await api.call('GET', '/api/v1/jobs?limit=0'), 400, 'request_invalid');
  for (const id of ids) await finished(api, id);
});

// Five, since a fresh account runs ten functions at once in all.
test('five submits of one action at once are one job', async () => {
  const { api } = await newUser();
  const submission = await newSubmission();

  const answers = await Promise.all(Array.from({ length: 5 }, () => submit(api, submission)));

  const ids = answers.map((answer) => jobOf(answer, answer.status).id);
  expect(new Set(ids).size).toBe(1);
  expect(answers.map(({ status }) => status).toSorted((a, b) => b - a)).toEqual([202, 200, 200, 200, 200]);
  for (const id of new Set(ids)) await finished(api, id);
});

test('an erased job is gone, and its key never buys again', async () => {
  const { api } = await newUser();
  const submission = await newSubmission();
  const { id } = await submitted(api, submission);
  const { result } = await finished(api, id);

  const erased = await api.call('DELETE', `/api/v1/jobs/${id}`);

  expect(erased.status).toBe(204);
  expectProblem(await api.call('GET', `/api/v1/jobs/${id}`), 410, 'job_gone');
  expectProblem(await submit(api, submission), 410, 'job_gone');
  const link = await fetch(result!.url);
  await link.body?.cancel();
  expect([403, 404]).toContain(link.status);
  // Erasing is for ever, and saying so twice does no harm.
  expect((await api.call('DELETE', `/api/v1/jobs/${id}`)).status).toBe(204);
  expectProblem(
    await api.call('GET', '/api/v1/jobs/by-key', { headers: { 'Idempotency-Key': randomUUID() } }),
    404,
    'job_not_found',
  );
});
