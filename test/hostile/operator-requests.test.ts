import { beforeAll, expect, it } from 'vitest';
import type { Seeded } from '../fixtures/seeded.ts';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';
import { batter } from './batter.ts';
import { allIds, idOf, residents } from './canaries.ts';
import { worsened, type RawRequest } from './request.ts';
import { runsOf, suiteTimeoutMs } from './runs.ts';
import { grantedKeys } from './target.ts';

let photo: Uint8Array;
beforeAll(async () => {
  photo = await photoWithPlace();
});

interface Sound {
  readonly request: RawRequest;
  readonly value: unknown;
}

const order = { reason: 'the vendor confirmed it by mail', generation: 1, dryRun: false };

function soundRequest(random: Seeded): Sound {
  // Two of three times somebody who may operate.
  const keys = random.below(3) === 0 ? grantedKeys : grantedKeys.filter(({ scopes }) => scopes.includes('operator'));
  const headers = [['X-API-Key', random.pick(keys).secret] as const];
  const someone = random.pick(residents);
  const id = random.below(4) === 0 ? random.pick(allIds) : idOf(someone, 'needs_attention');
  const sent = (routeKey: string, value: unknown, path?: Record<string, string>): Sound => ({
    request: {
      routeKey,
      headers: [...headers, ['Content-Type', 'application/json']],
      body: JSON.stringify(value),
      ...(path === undefined ? {} : { path }),
    },
    value,
  });
  const dryRun = random.below(3) === 0;
  switch (random.below(8)) {
    case 0: {
      const query = { limit: '2', ...(random.below(2) === 0 ? { code: 'unknown_send' } : { lane: 'default' }) };
      return { request: { routeKey: 'GET /api/v1/operator/flagged', headers, query }, value: undefined };
    }
    case 1:
      return { request: { routeKey: 'GET /api/v1/operator/jobs/{id}', headers, path: { id } }, value: undefined };
    case 2:
      return sent('POST /api/v1/operator/jobs/{id}/adopt', { ...order, dryRun, vendorJobId: 'vendor-9' }, { id });
    case 3:
      return sent('POST /api/v1/operator/jobs/{id}/retake', { ...order, dryRun }, { id });
    case 4:
      return sent(
        'POST /api/v1/operator/jobs/{id}/resend',
        { ...order, dryRun, notRunning: random.below(2) === 0 },
        { id },
      );
    case 5:
      return sent(
        'POST /api/v1/operator/jobs/{id}/fail',
        { ...order, dryRun, notRunning: random.below(2) === 0 },
        { id },
      );
    case 6: {
      const action = random.pick(['retake', 'resend', 'fail']);
      const filter = random.below(2) === 0 ? {} : { code: 'unknown_send', vendor: 'studio' };
      return sent('POST /api/v1/operator/flagged/settle', { action, filter, reason: 'an outage', dryRun, limit: 2 });
    }
    default:
      return random.below(4) === 0
        ? { request: { routeKey: 'GET /api/v1/operator/lanes', headers }, value: undefined }
        : sent(
            'PATCH /api/v1/operator/lanes/{lane}',
            { cap: 3, state: 'paused', reason: 'an outage' },
            { lane: 'slow' },
          );
  }
}

it(
  "operators' requests are answered or refused, and reach their own tenant only",
  { timeout: suiteTimeoutMs },
  async () => {
    const { wrong, answers } = await batter({
      runs: runsOf(4_000),
      photo,
      make: (random) => {
        const { request, value } = soundRequest(random);
        let worse = request;
        for (let times = random.below(3); times > 0; times -= 1) worse = worsened(worse, value, random);
        return worse;
      },
    });
    expect(wrong).toEqual([]);
    const expected = [
      '200',
      '400 body_malformed',
      '400 credentials_ambiguous',
      '400 cursor_invalid',
      '400 request_invalid',
      '401 credentials_invalid',
      '401 credentials_missing',
      '403 forbidden',
      '404 job_not_found',
      '404 lane_not_found',
      '409 job_moved_on',
      '409 still_may_run',
      '415 media_type_unsupported',
      '422 cap_above_ceiling',
      '422 vendor_job_unknown',
    ];
    expect(expected.filter((name) => !answers.has(name))).toEqual([]);
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
);
