import { beforeEach, describe, expect, it } from 'vitest';
import { laneListSchema, laneSchema } from '../../lambdas/http/operate-lanes.ts';
import { OperatorGateway, type Answer } from '../fixtures/operator-gateway.ts';
import { noon } from '../fixtures/stored-job.ts';

let gateway: OperatorGateway;
beforeEach(async () => {
  gateway = new OperatorGateway();
  await gateway.grantKey('operator', 'acme', ['operator']);
  await gateway.grantKey('app-server', 'acme', ['jobs']);
});

const reason = 'the vendor has an outage';
const list = (key = 'operator') => gateway.call('GET /api/v1/operator/lanes', { key });
const change = (body: Record<string, unknown>, lane = 'default', key = 'operator') =>
  gateway.call('PATCH /api/v1/operator/lanes/{lane}', { key, path: { lane }, body: { reason, ...body } });
const codeOf = ({ status, body }: Answer) => `${status} ${String(body['code'])}`;
const put = (ids: readonly string[]) => {
  for (const [rank, id] of ids.entries()) gateway.put('queued', { id, rank });
};

it('needs the scope `operator`', async () => {
  expect(codeOf(await list('app-server'))).toBe('403 forbidden');
  expect(codeOf(await change({ state: 'paused' }, 'default', 'app-server'))).toBe('403 forbidden');
  expect(gateway.lanes.get('default').state).toBe('open');
});

it('shows every lane of the deployment, used or not', async () => {
  put(['job_q', 'job_r']);
  gateway.put('running', { id: 'job_a' });
  await change({ state: 'paused' });
  expect(laneListSchema.parse((await list()).body).lanes).toEqual([
    {
      lane: 'default',
      cap: 2,
      ceiling: 8,
      state: 'paused',
      by: 'key:acme/key-of-operator',
      reason,
      since: '2026-01-01T12:01:00.000Z',
      inFlight: 1,
      queued: 2,
      restsUntil: null,
    },
    expect.objectContaining({ lane: 'slow', cap: 1, ceiling: 2, state: 'open', since: null, inFlight: 0, queued: 0 }),
  ]);
});

it('says until when a vendor asked us to wait: opening it, or raising its cap, begins nothing before', async () => {
  put(['job_q']);
  await gateway.lanes.backOff('default', gateway.clock.now() + 60_000);
  const { restsUntil } = laneSchema.parse((await change({ cap: 4 })).body);
  expect(restsUntil).toBe(new Date(gateway.clock.now() + 60_000).toISOString());
  await gateway.clock.advance(60_000);
  expect(laneListSchema.parse((await list()).body).lanes[0]).toMatchObject({ lane: 'default', restsUntil: null });
});

describe('a change', () => {
  it('pauses and opens; opening rings for what waits, as far as there is room', async () => {
    put(['job_1', 'job_2', 'job_3']);
    expect(laneSchema.parse((await change({ state: 'paused' })).body)).toMatchObject({ state: 'paused', queued: 3 });
    expect(gateway.doorbell.rings).toEqual([]);
    expect((await change({ state: 'open' })).status).toBe(200);
    expect(gateway.doorbell.rings.map(({ hint }) => hint)).toEqual(['job_1', 'job_2']);
  });

  it('raises the cap up to the ceiling, and rings for as many more', async () => {
    put(['job_1', 'job_2', 'job_3', 'job_4']);
    gateway.put('running', { id: 'job_a' });
    expect((await change({ cap: 4 })).body).toMatchObject({ cap: 4, inFlight: 1 });
    expect(gateway.doorbell.rings).toHaveLength(3);
    expect((await change({ cap: 8 })).status).toBe(200);
    const over = await change({ cap: 9 });
    expect(codeOf(over)).toBe('422 cap_above_ceiling');
    expect(over.body['ceiling']).toBe(8);
    expect(gateway.lanes.get('default').cap).toBe(8);
  });

  it('lowers the cap under what runs: that goes on, nothing begins', async () => {
    put(['job_1']);
    gateway.put('running', { id: 'job_a' });
    expect((await change({ cap: 0 })).body).toMatchObject({ cap: 0, inFlight: 1, queued: 1 });
    expect(gateway.doorbell.rings).toEqual([]);
  });

  it('opens a lane that was tripped, without its next probe', async () => {
    await gateway.lanes.trip('default', 0, { reason: '401', by: 'vendor studio', at: noon });
    expect((await change({ state: 'open' })).body).toMatchObject({ state: 'open', reason });
  });

  it('is refused where the lane has moved on meanwhile, with the lane as it is', async () => {
    const store = gateway.lanes.change.bind(gateway.lanes);
    gateway.lanes.change = async (...given) => {
      await gateway.lanes.trip('default', 0, { reason: '401', by: 'vendor studio', at: gateway.clock.now() });
      return await store(...given);
    };
    const answer = await change({ state: 'paused' });
    expect(codeOf(answer)).toBe('409 lane_moved_on');
    expect(laneSchema.parse(answer.body['lane'])).toMatchObject({ state: 'tripped', by: 'vendor studio' });
  });

  it('is audited', async () => {
    await change({ cap: 1, state: 'paused' });
    expect(await gateway.audit.read('lane#default')).toMatchObject([
      {
        actor: 'key:acme/key-of-operator',
        action: 'change_lane',
        reason,
        detail: { cap: 1, state: 'paused', wasCap: 2, wasState: 'open' },
      },
    ]);
  });

  it.each<[Record<string, unknown>]>([
    [{}],
    [{ cap: 1, reason: '' }],
    [{ cap: -1 }],
    [{ cap: 1.5 }],
    [{ state: 'tripped' }],
    [{ state: 'open', ceiling: 100 }],
  ])('is refused: %j', async (body) => {
    expect(codeOf(await change(body))).toBe('400 request_invalid');
    expect(gateway.lanes.get('default')).toMatchObject({ cap: 2, state: 'open' });
  });

  it.each(['no-such-lane', 'constructor', ''])('of lane %j, which is not there, is 404', async (lane) => {
    expect(codeOf(await change({ cap: 1 }, lane))).toBe('404 lane_not_found');
  });
});
