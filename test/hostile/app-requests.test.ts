import { beforeAll, expect, it } from 'vitest';
import type { Seeded } from '../fixtures/seeded.ts';
import { formBody } from '../fixtures/http-gateway.ts';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';
import { batter } from './batter.ts';
import { allIds, idOf, keyOf, residents, uploadIdOf, type Resident } from './canaries.ts';
import { eventOf, worsened, type RawRequest } from './request.ts';
import { runsOf, suiteTimeoutMs } from './runs.ts';
import { wounded } from './seeded.ts';
import { grantedKeys, revokedKey, Target } from './target.ts';
import { changesOf, type Asker } from './verdict.ts';

let photo: Uint8Array;
beforeAll(async () => {
  photo = await photoWithPlace();
});

type Headers = RawRequest['headers'];

interface Caller {
  readonly headers: Headers;
  /** Whose jobs and uploads it may name with success. */
  readonly self: Resident;
}

const actingKeys = grantedKeys.filter(({ scopes }) => scopes.includes('act-for-user'));

/** Most may do what they ask for: otherwise little else than the door would be tried. */
function caller(random: Seeded, tokens: ReadonlyMap<string, Asker>): Caller {
  const self = random.pick(residents);
  const anyKey = random.pick(grantedKeys).secret;
  switch (random.below(12)) {
    case 0:
      return { headers: [['X-API-Key', anyKey]], self };
    case 1:
      return { headers: [['X-API-Key', anyKey] as const, ['Slowlane-User', self.user] as const], self };
    case 2: {
      const wrong = [revokedKey, `${anyKey}x`, anyKey.slice(1), anyKey.toUpperCase()];
      return { headers: [['X-API-Key', random.pick(wrong)]], self };
    }
    case 3:
    case 4:
    case 5: {
      const [token, asker] = random.pick([...tokens]);
      const ofToken = residents.find(({ tenant, user }) => tenant === asker.tenant && user === asker.user);
      return { headers: [['Authorization', `Bearer ${token}`]], self: ofToken ?? self };
    }
    default: {
      const key = actingKeys.find(({ tenant }) => tenant === self.tenant) ?? random.pick(actingKeys);
      const acting = self.user === '-' ? [] : [['Slowlane-User', self.user] as const];
      return { headers: [['X-API-Key', key.secret], ...acting], self };
    }
  }
}

interface Sound {
  readonly request: RawRequest;
  /** The body's value, for what spoils it; absent where it has none or is no JSON. */
  readonly value?: unknown;
}

/** A request as an app sends it, each route as often as another. */
function soundRequest(random: Seeded, { headers, self }: Caller): Sound {
  const json = (routeKey: string, value: unknown): Sound => ({
    request: {
      routeKey,
      headers: [...headers, ['Content-Type', 'application/json'], idempotencyKey],
      body: JSON.stringify(value),
    },
    value,
  });
  const idempotencyKey = [
    'Idempotency-Key',
    random.below(4) === 0 ? random.pick([keyOf('queued'), keyOf('succeeded'), '"new-1"']) : `new-${random.below(16)}`,
  ] as const;
  const bare = (routeKey: string, path?: Record<string, string>, query?: Record<string, string>): Sound => ({
    request: {
      routeKey,
      headers: [...headers, idempotencyKey],
      ...(path === undefined ? {} : { path }),
      ...(query === undefined ? {} : { query }),
    },
  });
  const id = random.below(2) === 0 ? random.pick(allIds) : idOf(self, 'queued');
  const uploadId = uploadIdOf(random.below(3) === 0 ? random.pick(residents) : self);
  const feature = random.pick(['upscale', 'stylize']);
  switch (random.below(16)) {
    case 0:
    case 1:
    case 2: {
      const params = feature === 'upscale' ? { scale: 2 } : { style: 'sketch' };
      const inputs = { image: { uploadId } };
      return json('POST /api/v1/jobs', { feature, params, inputs, consent: 'confirmed', metadata: { order: 7 } });
    }
    case 3:
    case 4:
    case 5: {
      const parts = { feature, params: '{}', consent: 'confirmed', metadata: '{"order":7}', image: photo };
      const { body, headers: framing } = formBody(parts);
      const shards = Buffer.from(
        '\r\n--a-boundary-of-the-test--\r\nContent-Disposition: form-data; name="feature"\r\n\r\n',
      );
      const sent = random.below(3) === 0 ? body : wounded(body, shards, (below) => random.below(below));
      return {
        request: {
          routeKey: 'POST /api/v1/jobs',
          headers: [...headers, ...Object.entries(framing), idempotencyKey],
          body: sent,
        },
      };
    }
    case 6:
      return bare('GET /api/v1/jobs/{id}', { id });
    case 7:
      return bare('GET /api/v1/jobs/by-key');
    case 8:
      return bare('GET /api/v1/jobs/{id}/result', { id: random.pick([random.pick(allIds), idOf(self, 'succeeded')]) });
    case 9:
      return bare('GET /api/v1/jobs', undefined, {
        limit: '3',
        status: 'queued,running',
        ...(random.below(3) === 0 ? { cursor: 'W10.A' } : {}),
      });
    case 10:
      return bare('POST /api/v1/jobs/{id}/cancel', { id });
    case 11:
      return random.below(2) === 0
        ? bare('DELETE /api/v1/jobs/{id}', { id: random.pick(allIds) })
        : bare('DELETE /api/v1/users', undefined, { user: random.pick([self, random.pick(residents)]).user });
    case 12:
      return json('POST /api/v1/uploads', { contentType: 'image/jpeg', bytes: 4_000, sha256: 'a1'.repeat(32) });
    case 13:
      return json('POST /api/v1/client-tokens', {
        user: 'ann',
        features: [feature],
        maxJobs: 2,
        expiresInSeconds: 600,
      });
    case 14:
      return bare('POST /api/v1/socket-tickets');
    default:
      return bare(
        random.pick(['GET /api/v1/features', 'GET /api/v1/openapi.json', 'GET /api/v1/health', 'GET /api/v1/none']),
      );
  }
}

it('requests of apps are answered or refused, and harm nobody', { timeout: suiteTimeoutMs }, async () => {
  const { wrong, answers } = await batter({
    runs: runsOf(8_000),
    photo,
    make: (random, _target, tokens) => {
      const { request, value } = soundRequest(random, caller(random, tokens));
      let worse = request;
      for (let times = random.below(4); times > 0; times -= 1) worse = worsened(worse, value, random);
      return worse;
    },
  });
  expect(wrong).toEqual([]);
  const expected = [
    '200',
    '201',
    '202',
    '204',
    '302',
    '400 body_malformed',
    '400 credentials_ambiguous',
    '400 cursor_invalid',
    '400 feature_unknown',
    '400 idempotency_key_invalid',
    '400 idempotency_key_required',
    '400 request_invalid',
    '400 user_header_invalid',
    '401 credentials_invalid',
    '401 credentials_missing',
    '403 forbidden',
    '404 job_not_found',
    '409 result_not_ready',
    '410 job_gone',
    '415 media_type_unsupported',
    '422 consent_required',
    '422 idempotency_key_reused',
    '422 image_required',
    '422 image_unreadable',
    '422 parameters_invalid',
    '422 upload_not_found',
    '429 active_jobs_limit',
    '429 submit_rate_limit',
  ];
  expect(expected.filter((name) => !answers.has(name))).toEqual([]);
  expect(Object.keys(Object.prototype)).toEqual([]);
});

it('whoever erases one user leaves all others as they are', async () => {
  for (const { tenant, user, owner } of residents.filter((one) => one.user !== '-')) {
    const target = await Target.open(photo);
    const key =
      grantedKeys.find((each) => each.tenant === tenant && each.scopes.includes('act-for-user'))?.secret ?? '';
    const headers = [['X-API-Key', key] as const, ['Slowlane-User', user] as const];
    const before = target.snapshot();
    const sent = { routeKey: 'DELETE /api/v1/users', headers, query: { user } };
    expect((await target.send(eventOf(sent, true))).status).toBe(202);
    const changed = changesOf(before, target.snapshot());
    expect(changed.length).toBeGreaterThan(5);
    expect(changed.filter((name) => !name.startsWith(`${owner} `))).toEqual([]);
  }
});
