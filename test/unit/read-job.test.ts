import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { jobIdOf } from '../../lambdas/domain/idempotency.ts';
import { terminalStates, type JobFields, type State } from '../../lambdas/domain/job.ts';
import { asAnn, formCall } from '../fixtures/http-calls.ts';
import { HttpGateway, type Received } from '../fixtures/http-gateway.ts';
import { jobInState } from '../fixtures/job-in-state.ts';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';

let photo: Uint8Array;
let gateway: HttpGateway;

beforeAll(async () => {
  photo = await photoWithPlace();
});

const id = jobIdOf('acme/ann', 'key-1');

beforeEach(async () => {
  gateway = new HttpGateway();
  await gateway.grantKey('ann-server');
  await gateway.grantKey('bob-server', 'other-company');
  await gateway.call('POST /api/v1/jobs', formCall({ image: photo, metadata: '{"order":7}' }));
});

const read = (headers: Record<string, string> = asAnn): Promise<Received> =>
  gateway.call('GET /api/v1/jobs/{id}', { headers, path: { id } });

function becomes(state: State, more: Partial<JobFields> = {}): void {
  gateway.jobs.put(jobInState(gateway.jobs.get(id), state, more));
}

const picture = { key: `results/acme/ann/${id}/1-0`, contentType: 'image/jpeg', bytes: 9, width: 64, height: 48 };

describe('reading a job', () => {
  it('shows it with its metadata, its place and when to ask again', async () => {
    const { status, headers, body } = await read();
    expect(status).toBe(200);
    expect(headers).toMatchObject({ 'Retry-After': '2', 'Cache-Control': 'no-store' });
    const now = new Date(gateway.clock.now()).toISOString();
    expect(body).toMatchObject({ id, metadata: { order: 7 }, queue: { ahead: 0, estimatedStartAt: now } });
  });

  it('counts the jobs that go first, and guesses when its turn comes', async () => {
    for (const key of ['key-2', 'key-3', 'key-4']) {
      await gateway.call('POST /api/v1/jobs', formCall({ image: photo }, { 'idempotency-key': key }));
    }
    const last = { headers: asAnn, path: { id: jobIdOf('acme/ann', 'key-4') } };
    const { body } = await gateway.call('GET /api/v1/jobs/{id}', last);
    const later = new Date(gateway.clock.now() + 20_000).toISOString();
    expect(body['queue']).toEqual({ ahead: 3, estimatedStartAt: later });
    gateway.lanes.put({ ...gateway.lanes.get('default'), state: 'paused' });
    const paused = await gateway.call('GET /api/v1/jobs/{id}', last);
    expect(paused.body['queue']).toEqual({ ahead: 3, estimatedStartAt: null });
  });

  it('counts no more than a few hundred of a long queue, and guesses nothing then', async () => {
    const job = gateway.jobs.get(id);
    gateway.jobs.put({ ...job, rank: 1_000 });
    for (let rank = 1; rank <= 250; rank += 1) gateway.jobs.put({ ...job, id: `job_${rank}`, rank });
    expect((await read()).body['queue']).toEqual({ ahead: 200, estimatedStartAt: null });
  });

  it.each([
    ['another user', { ...asAnn, 'slowlane-user': 'bob' }, 404],
    ['another tenant', { 'x-api-key': 'bob-server', 'slowlane-user': 'ann' }, 404],
    ["another tenant's server", { 'x-api-key': 'bob-server' }, 404],
    ["the tenant's own server", { 'x-api-key': 'ann-server' }, 200],
  ])('as %s answers %s', async (_, headers, status) => {
    expect((await read(headers)).status).toBe(status);
  });

  it('that is unknown, or no id at all, is 404', async () => {
    for (const other of [jobIdOf('acme/ann', 'never'), '../etc', 'job_']) {
      const { status, body } = await gateway.call('GET /api/v1/jobs/{id}', { headers: asAnn, path: { id: other } });
      expect([status, body['code']]).toEqual([404, 'job_not_found']);
    }
  });

  it.each(terminalStates)('that is %s has nothing to wait for', async (state) => {
    becomes(state);
    const { headers, body } = await read();
    expect(headers).not.toHaveProperty('Retry-After');
    expect(body).toMatchObject({ done: true, queue: null });
  });

  it('that was erased is 410 for its owner, and 404 for everybody else', async () => {
    becomes('succeeded');
    await gateway.jobs.erase(gateway.jobs.get(id), gateway.clock.now());
    expect((await read()).body['code']).toBe('job_gone');
    expect((await read({ ...asAnn, 'slowlane-user': 'bob' })).status).toBe(404);
  });

  it('by its key finds it without its id', async () => {
    const byKey = (key: string): Promise<Received> =>
      gateway.call('GET /api/v1/jobs/by-key', { headers: { ...asAnn, 'idempotency-key': key } });
    expect((await byKey('"key-1"')).body['id']).toBe(id);
    expect((await byKey('key-2')).status).toBe(404);
    expect((await byKey('')).body['code']).toBe('idempotency_key_required');
  });
});

describe('the result', () => {
  const result = (headers: Record<string, string> = asAnn): Promise<Received> =>
    gateway.call('GET /api/v1/jobs/{id}/result', { headers, path: { id } });

  it('is a redirect to our own copy, or its URL where JSON is asked for', async () => {
    becomes('succeeded', { results: [picture] });
    const url = `https://pictures.test/${picture.key}?as=${id}.jpg`;
    expect(await result()).toMatchObject({ status: 302, headers: { Location: url } });
    const asJson = await result({ ...asAnn, accept: 'application/json' });
    const expiresAt = new Date(gateway.clock.now() + 600_000).toISOString();
    expect([asJson.status, asJson.body]).toEqual([200, { url, expiresAt }]);
  });

  it.each<[State, number, string]>([
    ['queued', 409, 'result_not_ready'],
    ['running', 409, 'result_not_ready'],
    ['needs_attention', 409, 'result_not_ready'],
    ['failed', 409, 'result_none'],
    ['canceled', 409, 'result_none'],
  ])('of a %s job is refused with %s %s', async (state, status, code) => {
    becomes(state);
    expect(await result()).toMatchObject({ status, body: { code } });
  });

  it('is gone with the end of its time, though the job may still be found', async () => {
    becomes('succeeded', { results: [picture], ttl: gateway.clock.now() / 1000 });
    expect(await result()).toMatchObject({ status: 410, body: { code: 'result_expired' } });
    expect((await read()).body['result']).toMatchObject({ url: null, expiresAt: null });
  });

  it("of another user's job is 404", async () => {
    becomes('succeeded', { results: [picture] });
    expect((await result({ ...asAnn, 'slowlane-user': 'bob' })).status).toBe(404);
  });
});

describe('a broken store', () => {
  it('is 503 with our own problem, and a log line that holds no id of a user', async () => {
    gateway.jobs.read = () => Promise.reject(new Error('DynamoDB does not answer.'));
    expect(await read()).toMatchObject({ status: 503, body: { code: 'unavailable', requestId: 'request-1' } });
    const failed = gateway.logged.find(({ event }) => event === 'request_failed');
    expect(failed).toMatchObject({ level: 'error', route: 'GET /api/v1/jobs/{id}', requestId: 'request-1' });
  });

  it('is 500 where the mistake is ours', async () => {
    gateway.jobs.read = () => Promise.reject(new TypeError('undefined is not a function'));
    expect(await read()).toMatchObject({ status: 500, body: { code: 'internal' } });
  });
});
