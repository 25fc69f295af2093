import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { newUser, operator } from './api.ts';
import { finished, jobOf, newSubmission, read, submitted } from './jobs.ts';
import { expectProblem } from './problem.ts';

const laneSchema = z.object({
  lane: z.string(),
  cap: z.int().nonnegative(),
  ceiling: z.int().positive(),
  state: z.enum(['open', 'paused', 'tripped']),
  by: z.string(),
  reason: z.string(),
  /** Null: it was never in another state. */
  since: z.iso.datetime().nullable(),
  inFlight: z.int().nonnegative(),
  queued: z.int().nonnegative(),
});
type Lane = z.infer<typeof laneSchema>;

const reason = 'The black-box suite of this deployment';

async function lanes(): Promise<Lane[]> {
  const answer = await operator.call('GET', '/api/v1/operator/lanes');
  expect(answer.status).toBe(200);
  return z.object({ lanes: z.array(laneSchema).min(1) }).parse(answer.json()).lanes;
}

const change = (lane: string, json: unknown) => operator.call('PATCH', `/api/v1/operator/lanes/${lane}`, { json });

test('lanes are listed with their caps, within their ceilings', async () => {
  for (const { cap, ceiling, inFlight } of await lanes()) {
    expect(cap).toBeLessThanOrEqual(ceiling);
    expect(inFlight).toBeLessThanOrEqual(ceiling);
  }
});

test('what needs a person is listed', async () => {
  const answer = await operator.call('GET', '/api/v1/operator/flagged');

  expect(answer.status).toBe(200);
  expect(answer.json()).toMatchObject({ flagged: expect.any(Array), counts: expect.any(Object), complete: true });
});

test('a lane that is not there, and a cap that is not to be had, are refused', async () => {
  const [{ lane, ceiling }] = (await lanes()) as [Lane];

  expectProblem(await change('no-such-lane', { cap: 1, reason }), 404, 'lane_not_found');
  expectProblem(await change(lane, { cap: ceiling + 1, reason }), 422, 'cap_above_ceiling');
  expectProblem(await change(lane, { cap: 1 }), 400, 'request_invalid');
});

describe('a closed lane', () => {
  let before: Lane;

  beforeEach(async () => {
    before = (await lanes()).find(({ lane }) => lane === 'default') ?? (await lanes())[0]!;
    expect((await change(before.lane, { state: 'paused', reason })).status).toBe(200);
  });

  afterEach(async () => {
    expect((await change(before.lane, { state: 'open', cap: before.cap, reason })).status).toBe(200);
  });

  test('says who closed it, and why', async () => {
    const closed = (await lanes()).find(({ lane }) => lane === before.lane);

    expect(closed).toMatchObject({ state: 'paused', reason, by: expect.stringMatching(/./) });
  });

  test('accepts jobs and starts none; opening it runs them', async () => {
    const { api } = await newUser();
    const { id } = await submitted(api, await newSubmission());

    const waiting = await read(api, id);
    expect(waiting).toMatchObject({ status: 'queued', queue: { ahead: expect.any(Number) }, startedAt: null });
    await change(before.lane, { state: 'open', reason });

    expect(await finished(api, id)).toMatchObject({ status: 'succeeded' });
  });

  test('a waiting job is canceled at once, and never bought', async () => {
    const { api } = await newUser();
    const { id } = await submitted(api, await newSubmission());

    const canceled = jobOf(await api.call('POST', `/api/v1/jobs/${id}/cancel`), 200);

    expect(canceled).toMatchObject({ status: 'canceled', done: true, charge: { state: 'none' } });
    expectProblem(await api.call('GET', `/api/v1/jobs/${id}/result`), 409, 'result_none');
    await change(before.lane, { state: 'open', reason });
    expect(await read(api, id)).toMatchObject({ status: 'canceled', version: canceled.version });
  });

  test('a job that is not done has no result yet', async () => {
    const { api } = await newUser();
    const { id } = await submitted(api, await newSubmission());

    expectProblem(await api.call('GET', `/api/v1/jobs/${id}/result`), 409, 'result_not_ready');
    await api.call('POST', `/api/v1/jobs/${id}/cancel`);
  });
});
