import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { jobIdOf } from '../../lambdas/domain/idempotency.ts';
import { inputKeyOf, resultKeyOf, type State } from '../../lambdas/domain/job.ts';
import { asAnn, formCall } from '../fixtures/http-calls.ts';
import { HttpGateway, type Received } from '../fixtures/http-gateway.ts';
import { jobInState } from '../fixtures/job-in-state.ts';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';

let photo: Uint8Array;
let gateway: HttpGateway;
const annsJob = (key: string): string => jobIdOf('acme/ann', key);
const id = annsJob('key-1');

beforeAll(async () => {
  photo = await photoWithPlace();
});

beforeEach(async () => {
  gateway = new HttpGateway();
  await gateway.grantKey('ann-server');
  await gateway.grantKey('no-acting', 'acme', ['jobs']);
  await submit('key-1');
});

async function submit(key: string, headers: Record<string, string> = {}): Promise<void> {
  await gateway.call('POST /api/v1/jobs', formCall({ image: photo }, { 'idempotency-key': key, ...headers }));
}

async function becomes(state: State, key = 'key-1'): Promise<void> {
  const job = jobInState(gateway.jobs.get(annsJob(key)), state);
  gateway.jobs.put(job);
  await gateway.files.put(resultKeyOf(job, 0), photo, 'image/jpeg');
}

const erase = (headers: Record<string, string> = asAnn): Promise<Received> =>
  gateway.call('DELETE /api/v1/jobs/{id}', { headers, path: { id } });

const eraseUser = (user: string, headers: Record<string, string>): Promise<Received> =>
  gateway.call('DELETE /api/v1/users', { headers, query: { user } });

describe('erasing a job', () => {
  it('that has ended takes its pictures and request, and leaves a tombstone that never buys again', async () => {
    await becomes('succeeded');
    const { submitToken } = gateway.jobs.get(id);
    expect((await erase()).status).toBe(204);
    expect(gateway.files.keys).toEqual([]);
    expect(await gateway.jobs.readRequest(id, submitToken)).toBeUndefined();
    expect(await gateway.jobs.read(id)).toMatchObject({ kind: 'erased' });
    const again = await gateway.call('POST /api/v1/jobs', formCall({ image: photo }));
    expect(again.body['code']).toBe('job_gone');
  });

  it('that waits cancels and erases it at once, and its end is announced first', async () => {
    expect((await erase()).status).toBe(204);
    expect(gateway.bus.announcements.map(({ job }) => job.state)).toEqual(['canceled']);
    expect(await gateway.jobs.read(id)).toMatchObject({ kind: 'erased' });
  });

  it.each(['dispatching', 'running', 'needs_attention'] as const)(
    'that is %s asks to cancel, and erases nothing yet',
    async (state) => {
      await becomes(state);
      const files = gateway.files.keys;
      const { status, body } = await erase();
      expect(status).toBe(202);
      expect(body).toMatchObject({ id, status: state, cancelRequestedAt: expect.any(String) });
      expect(gateway.files.keys).toEqual(files);
    },
  );

  it('that a person failed waits until it can no longer be running', async () => {
    gateway.jobs.put(jobInState(gateway.jobs.get(id), 'failed', { hold: { token: 'hold' } }));
    expect((await erase()).status).toBe(202);
    expect(await gateway.jobs.read(id)).toMatchObject({ kind: 'job' });
  });

  it('again takes what a late loser of the submit left behind', async () => {
    await becomes('succeeded');
    const job = gateway.jobs.get(id);
    await erase();
    await gateway.files.put(inputKeyOf({ ...job, submitToken: 'late' }), photo, 'image/jpeg');
    expect((await erase()).status).toBe(204);
    expect(gateway.files.keys).toEqual([]);
  });

  it('of somebody else is 404 and touches nothing', async () => {
    expect((await erase({ ...asAnn, 'slowlane-user': 'bob' })).status).toBe(404);
    expect(gateway.jobs.get(id).state).toBe('queued');
  });
});

describe('erasing a user', () => {
  it('erases all that can be, and names what is still running', async () => {
    await submit('key-2');
    await submit('key-3');
    await becomes('succeeded', 'key-1');
    await becomes('running', 'key-2');
    await submit('bobs', { 'slowlane-user': 'bob' });
    await gateway.files.put('uploads/acme/ann/upl_1', photo, 'image/jpeg');
    const { status, body } = await eraseUser('ann', { 'x-api-key': 'ann-server' });
    expect([status, body]).toEqual([202, { erased: 2, pending: [annsJob('key-2')], more: false }]);
    expect(gateway.files.keys.filter((key) => key.includes('/ann/') && !key.includes(annsJob('key-2')))).toEqual([]);
    expect(gateway.jobs.all().map(({ owner }) => owner)).toEqual(['acme/ann', 'acme/bob']);
    await becomes('canceled', 'key-2');
    const rest = await eraseUser('ann', { 'x-api-key': 'ann-server' });
    expect([rest.status, rest.body]).toEqual([200, { erased: 1, pending: [], more: false }]);
  });

  it('takes the pictures that no job names, once nothing of the user runs', async () => {
    const unnamed = ['inputs/acme/ann/job_dead/submit', 'results/acme/ann/job_expired/1-0'];
    for (const key of [...unnamed, 'inputs/acme/anna/job_x/submit']) await gateway.files.put(key, photo, 'image/jpeg');
    await becomes('running');
    await eraseUser('ann', { 'x-api-key': 'ann-server' });
    expect(gateway.files.keys).toEqual(expect.arrayContaining(unnamed));
    await becomes('canceled');
    expect((await eraseUser('ann', { 'x-api-key': 'ann-server' })).status).toBe(200);
    expect(gateway.files.keys).toEqual(['inputs/acme/anna/job_x/submit']);
  });

  it('pages through everything', async () => {
    gateway.limits = { activeJobs: 1_000, submitsPerMinute: 1_000 };
    for (let each = 0; each < 25; each += 1) await submit(`more-${each}`);
    expect((await eraseUser('ann', { 'x-api-key': 'ann-server' })).body).toMatchObject({ erased: 26, more: false });
    expect(gateway.jobs.all()).toEqual([]);
  });

  it.each([
    ['a key that may not act for users', { 'x-api-key': 'no-acting' }],
    ['a server that acts for another user', { 'x-api-key': 'ann-server', 'slowlane-user': 'bob' }],
  ])('is refused to %s', async (_, headers) => {
    expect(await eraseUser('ann', headers)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(gateway.jobs.get(id).state).toBe('queued');
  });

  it.each([undefined, '', '-', 'ann\n'])('is refused for %j, who is nobody', async (user) => {
    const query = user === undefined ? undefined : { user };
    const headers = { 'x-api-key': 'ann-server' };
    const { status, body } = await gateway.call('DELETE /api/v1/users', { headers, ...(query && { query }) });
    expect([status, body['code']]).toEqual([400, 'request_invalid']);
    expect(gateway.jobs.get(id).state).toBe('queued');
  });

  it('is of the very user, whatever the name looks like in a URL', async () => {
    const awkward = 'ann?of=x/../%61nn&user=ann#1';
    await submit('of-another', { 'slowlane-user': awkward });
    const erased = await eraseUser(awkward, { 'x-api-key': 'ann-server' });
    expect(erased.body).toMatchObject({ erased: 1, more: false });
    expect(gateway.jobs.get(id).state).toBe('queued');
  });

  it('is allowed to the user', async () => {
    expect((await eraseUser('ann', asAnn)).status).toBe(200);
  });
});
