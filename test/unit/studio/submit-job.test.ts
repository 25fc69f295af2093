import { get } from 'node:http';
import { describe, expect, test } from 'vitest';

import { apiKey, openStudio, smallPicture, StudioClient } from './studio-client.ts';

describe('a new job', () => {
  test('is accepted, made, billed and delivered', async () => {
    const studio = await openStudio();
    const accepted = await studio.accepted({ key: 'job_a.1', params: { style: 'poster' } });

    const job = await studio.jobWith(accepted.id, 'succeeded');

    expect(job).toMatchObject({ key: 'job_a.1', progress: { percent: 100, stage: 'done' }, error: null });
    expect(job.result).toMatchObject({ contentType: 'image/png', width: 32, height: 24 });
    const result = await fetch(job.result!.url, { headers: { 'x-api-key': apiKey } });
    expect(result.headers.get('content-type')).toBe('image/png');
    expect((await result.bytes()).length).toBe(job.result!.bytes);
    const ledger = await studio.ledger();
    expect(ledger).toMatchObject({ inFlight: 0, maxInFlight: 1, posts: 1 });
    expect(ledger.accepted).toEqual([
      {
        vendorJobId: job.id,
        key: 'job_a.1',
        feature: 'stylize',
        acceptedAt: job.createdAt,
        status: 'succeeded',
        finishedAt: job.finishedAt,
      },
    ]);
  });

  test('has no result before it is made', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'run', fault: 'slow', seconds: 30 });
    const { id } = await studio.accepted();
    expect((await studio.get(`/api/v1/jobs/${id}/result`)).status).toBe(404);
  });
});

describe('the same key', () => {
  test('gives the original, whatever its state', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'run', fault: 'fail', error: 'no film left' });
    const first = await studio.accepted({ key: 'k' });
    await studio.jobWith(first.id, 'failed');

    const replay = await studio.submit({ key: 'k' });

    expect(replay.status).toBe(200);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect(await replay.json()).toMatchObject({ id: first.id, status: 'failed', error: 'no film left' });
    expect(await studio.ledger()).toMatchObject({ posts: 2, accepted: [{ vendorJobId: first.id }] });
  });

  test('posted ten times at once is one job', async () => {
    const studio = await openStudio();
    const answers = await Promise.all(Array.from({ length: 10 }, () => studio.submit({ key: 'k' })));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(9);
    const { accepted, posts } = await studio.ledger();
    expect({ jobs: accepted.length, posts }).toEqual({ jobs: 1, posts: 10 });
  });

  test('under /blind is a new job each time, and found under /blind only', async () => {
    const studio = await openStudio();
    const first = await studio.accepted({ key: 'k', prefix: '/blind' });
    const second = await studio.accepted({ key: 'k', prefix: '/blind' });
    await studio.accepted({ key: 'k' });

    expect(second.id).not.toBe(first.id);
    expect((await studio.ledger()).accepted.map(({ key }) => key)).toEqual(['k', 'k', 'k']);
    expect((await studio.get(`/api/v1/jobs/${first.id}`)).status).toBe(404);
    const job = await studio.jobWith(first.id, 'succeeded', '/blind');
    expect(job.result!.url).toBe(`${studio.url}/blind/api/v1/jobs/${first.id}/result`);
  });

  test('missing makes every post a new job', async () => {
    const studio = await openStudio();
    await studio.accepted();
    await studio.accepted();
    expect((await studio.ledger()).accepted.map(({ key }) => key)).toEqual([null, null]);
  });
});

describe('refusals accept nothing', () => {
  test.each([
    ['a wrong API key', { apiKey: 'wrong' }, 401, 'X-API-Key'],
    ['an unknown feature', { feature: 'undress' }, 400, 'feature must be one of'],
    ['a malformed callback URL', { callbackUrl: 'ftp://example.org' }, 400, 'callbackUrl'],
    ['an unknown parameter', { params: { stile: 'sketch' } }, 422, 'stile'],
    ['a key with a space', { key: 'a b' }, 400, 'Idempotency-Key'],
    ['bytes that are no picture', { image: Buffer.from('not a picture') }, 422, 'not a JPEG, PNG or WebP'],
  ])('%s', async (_, order, status, reason) => {
    const studio = await openStudio();
    const answer = await studio.submit(order);
    expect(answer.status).toBe(status);
    expect(await answer.text()).toContain(reason);
    expect(await studio.ledger()).toMatchObject({ accepted: [], inFlight: 0, posts: 1 });
  });

  test('a picture over the upscale limit, with its size in the reason', async () => {
    const studio = await openStudio();
    const answer = await studio.submit({ feature: 'upscale', image: await smallPicture(513, 512) });
    expect(answer.status).toBe(422);
    expect(await answer.json()).toEqual({
      error: 'The picture has 513×512 = 262656 pixels; upscale takes at most 262144.',
    });
    expect((await studio.ledger()).accepted).toEqual([]);
  });

  test('a body that is no form', async () => {
    const studio = await openStudio();
    const answer = await fetch(`${studio.url}/api/v1/jobs`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey },
      body: 'hello',
    });
    expect(answer.status).toBe(400);
  });

  test('a body over the limit, read to its end', async () => {
    const studio = await openStudio();
    const answer = await studio.submit({ image: Buffer.alloc(21 * 1024 * 1024) });
    expect(answer.status).toBe(413);
    expect((await studio.ledger()).accepted).toEqual([]);
  });

  test('a path that is no URL', async () => {
    const studio = await openStudio();
    const { port } = new URL(studio.url);
    const status = await new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, path: '//' }, (response) => resolve(response.statusCode)).on('error', reject);
    });
    expect(status).toBe(404);
  });

  test('reading without the API key', async () => {
    const studio = await openStudio();
    const { id } = await studio.accepted();
    expect((await fetch(`${studio.url}/api/v1/jobs/${id}`)).status).toBe(401);
    expect((await fetch(`${studio.url}/api/v1/jobs/${id}/result`)).status).toBe(401);
  });
});

test('a key is rotated: the new one beside the old, then alone', async () => {
  const studio = await openStudio();
  const allow = (...apiKeys: string[]) =>
    fetch(`${studio.url}/control/api-keys`, { method: 'PUT', body: JSON.stringify({ apiKeys }) });
  const answers = async () =>
    await Promise.all([apiKey, 'new-key'].map(async (one) => (await studio.submit({ apiKey: one })).status));
  expect(await answers()).toEqual([202, 401]);
  expect((await allow(apiKey, 'new-key')).status).toBe(200);
  expect(await answers()).toEqual([202, 202]);
  expect((await allow('new-key')).status).toBe(200);
  expect(await answers()).toEqual([401, 202]);
  expect((await allow()).status).toBe(400);
});

describe('capacity and cancelling', () => {
  test('the ledger counts accepted and unfinished jobs, waiting ones too', async () => {
    const studio = await openStudio(2);
    await studio.fault({ point: 'run', fault: 'slow', seconds: 60 });
    const jobs = [await studio.accepted(), await studio.accepted(), await studio.accepted()];
    expect(await studio.ledger()).toMatchObject({ inFlight: 3, maxInFlight: 3 });
    expect((await studio.job(jobs[2]!.id)).status).toBe('queued');

    await studio.clearFaults();
    for (const { id } of jobs) await studio.jobWith(id, 'succeeded');
    expect(await studio.ledger()).toMatchObject({ inFlight: 0, maxInFlight: 3 });
  });

  test('a waiting job is canceled at once, a running one stops, a finished one stays', async () => {
    const studio = await openStudio(1);
    await studio.fault({ point: 'run', fault: 'slow', seconds: 60, times: 1 });
    const running = await studio.accepted();
    const waiting = await studio.accepted();
    await studio.jobWith(running.id, 'running');

    const answer = await studio.cancel(waiting.id);
    expect(answer.status).toBe(202);
    expect(await answer.json()).toMatchObject({ status: 'canceled', error: null });
    expect((await studio.cancel(running.id)).status).toBe(202);
    await studio.jobWith(running.id, 'canceled');

    const finished = await studio.accepted();
    await studio.jobWith(finished.id, 'succeeded');
    expect((await studio.cancel(finished.id)).status).toBe(202);
    expect((await studio.job(finished.id)).status).toBe('succeeded');
  });

  test('a reset clears jobs, counters and faults', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'run', fault: 'slow', seconds: 60 });
    const { id } = await studio.accepted({ key: 'k' });
    await studio.jobWith(id, 'running');

    await fetch(`${studio.url}/control/reset`, { method: 'POST' });

    expect(await studio.ledger()).toEqual({ accepted: [], inFlight: 0, maxInFlight: 0, posts: 0 });
    expect((await studio.get(`/api/v1/jobs/${id}`)).status).toBe(404);
    const again = await studio.accepted({ key: 'k' });
    await studio.jobWith(again.id, 'succeeded');
  });

  test('counters start over without forgetting jobs', async () => {
    const studio = await openStudio();
    const { id } = await studio.accepted();
    await studio.jobWith(id, 'succeeded');
    await fetch(`${studio.url}/control/ledger`, { method: 'DELETE' });
    expect(await studio.ledger()).toMatchObject({ accepted: [{ vendorJobId: id }], maxInFlight: 0, posts: 0 });
  });

  test('health, unknown routes and wrong methods', async () => {
    const studio = new StudioClient((await openStudio()).url);
    expect((await studio.get('/control/health')).status).toBe(200);
    expect((await studio.get('/control/nothing')).status).toBe(404);
    expect((await studio.get('/api/v2/jobs')).status).toBe(404);
    expect((await studio.get('/api/v1/jobs')).status).toBe(405);
    expect((await studio.get('/api/v1/jobs/stu_nothing')).status).toBe(404);
  });
});
