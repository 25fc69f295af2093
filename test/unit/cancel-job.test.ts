import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { jobIdOf } from '../../lambdas/domain/idempotency.ts';
import { terminalStates, type State } from '../../lambdas/domain/job.ts';
import { asAnn, formCall } from '../fixtures/http-calls.ts';
import { HttpGateway, type Received } from '../fixtures/http-gateway.ts';
import { jobInState } from '../fixtures/job-in-state.ts';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';

let photo: Uint8Array;
let gateway: HttpGateway;
const id = jobIdOf('acme/ann', 'key-1');

beforeAll(async () => {
  photo = await photoWithPlace();
});

beforeEach(async () => {
  gateway = new HttpGateway();
  await gateway.grantKey('ann-server');
  await gateway.call('POST /api/v1/jobs', formCall({ image: photo }));
});

const cancel = (headers: Record<string, string> = asAnn): Promise<Received> =>
  gateway.call('POST /api/v1/jobs/{id}/cancel', { headers, path: { id } });

const becomes = (state: State): void => gateway.jobs.put(jobInState(gateway.jobs.get(id), state));

describe('cancelling', () => {
  it('a queued job ends it at once, uncharged, and announces that', async () => {
    const { status, body } = await cancel();
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'canceled', done: true, charge: { state: 'none' }, error: null });
    expect(body['expiresAt']).toBe(new Date(gateway.clock.now() + 30 * 86_400_000).toISOString());
    expect(gateway.bus.announcements.map((announcement) => announcement.id)).toEqual([`${id}.2`]);
    expect(gateway.jobs.get(id).announce).toBeUndefined();
  });

  it.each(['dispatching', 'running', 'needs_attention'] as const)('a %s job is only a request', async (state) => {
    becomes(state);
    const { status, body } = await cancel();
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: state, done: false, version: 2 });
    expect(body['cancelRequestedAt']).toBe(new Date(gateway.clock.now()).toISOString());
    expect(gateway.feed.sent).toHaveLength(1);
  });

  it('twice keeps the first request, and writes nothing more', async () => {
    becomes('running');
    const first = await cancel();
    await gateway.clock.advance(5_000);
    expect((await cancel()).body).toEqual(first.body);
  });

  it.each(terminalStates)('a %s job changes nothing', async (state) => {
    becomes(state);
    const before = gateway.jobs.get(id);
    expect(await cancel()).toMatchObject({ status: 200, body: { status: state } });
    expect(gateway.jobs.get(id)).toEqual(before);
  });

  it('a job that is claimed meanwhile is a request to whoever claimed it', async () => {
    const move = gateway.jobs.move.bind(gateway.jobs);
    gateway.jobs.move = async (moving) => {
      gateway.jobs.move = move;
      becomes('dispatching');
      return move(moving);
    };
    expect((await cancel()).body).toMatchObject({ status: 'dispatching', done: false });
    expect(gateway.jobs.get(id).cancelRequestedAt).toBe(gateway.clock.now());
  });

  it('succeeds although the bus is down: the event stays due', async () => {
    gateway.bus.broken = true;
    expect((await cancel()).status).toBe(200);
    expect(gateway.jobs.get(id)).toMatchObject({ state: 'canceled', announce: 2 });
    expect(gateway.logged).toContainEqual(expect.objectContaining({ event: 'job_not_announced', jobId: id }));
  });

  it("another user's job is 404 and touches nothing", async () => {
    expect((await cancel({ ...asAnn, 'slowlane-user': 'bob' })).status).toBe(404);
    expect(gateway.jobs.get(id).state).toBe('queued');
  });
});
