import { beforeAll, expect, it } from 'vitest';
import { callbackUrl } from '../../lambdas/vendors/callback.ts';
import { signWebhook, webhookToleranceMs } from '../../lambdas/vendors/webhook-signature.ts';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';
import { Seeded } from '../fixtures/seeded.ts';
import { inTime } from './batter.ts';
import { idOf, residents } from './canaries.ts';
import { nastyJson, nastyText } from './nasty.ts';
import { eventOf, type RawRequest } from './request.ts';
import { firstSeed, runsOf, suiteTimeoutMs } from './runs.ts';
import { signingSecret, Target, webhookSecret } from './target.ts';
import { changesOf, wrongWithAnswer } from './verdict.ts';

/** Callbacks of vendors, true ones and such as strangers make up from true ones. */

const routeKey = 'POST /api/v1/vendor-events/{vendor}/{jobId}/{generation}/{token}';
const eventsPerTarget = 40;

let photo: Uint8Array;
beforeAll(async () => {
  photo = await photoWithPlace();
});

interface Claims {
  readonly vendor: string;
  readonly jobId: string;
  readonly generation: number;
}

interface Posted {
  readonly request: RawRequest;
  /** Whether the vendor itself could have sent it: our token for exactly this path, its signature over exactly this body, now. */
  readonly isTrue: boolean;
  readonly isOurUrl: boolean;
  readonly jobId: string;
}

function pathOf(claims: Claims): Record<string, string> {
  const parts = callbackUrl('https://api.test', claims, signingSecret).split('/').slice(6);
  const [vendor = '', jobId = '', generation = '', token = ''] = parts;
  return { vendor, jobId, generation, token };
}

function signed(body: string | Uint8Array, at: number, secret = webhookSecret): [string, string][] {
  const timestamp = String(Math.floor(at / 1000));
  return [
    ['webhook-id', 'event-1'],
    ['webhook-timestamp', timestamp],
    ['webhook-signature', `v1,${signWebhook('event-1', timestamp, Buffer.from(body), secret)}`],
  ];
}

function someClaims(random: Seeded): Claims {
  const state = random.pick(['queued', 'running', 'needs_attention', 'succeeded', 'failed'] as const);
  return { vendor: 'studio', jobId: idOf(random.pick(residents), state), generation: 1 + random.below(2) };
}

function trueEvent(random: Seeded, now: number): Posted {
  const claims = someClaims(random);
  const value = { id: `vendor-${random.below(4)}`, key: `${claims.jobId}.${claims.generation}`, status: 'succeeded' };
  const data = random.below(4) === 0 ? { type: 'job.done', data: value } : value;
  // What a vendor signs may be nonsense: it is still from the vendor.
  const body = random.below(3) === 0 ? nastyJson(data, random) : JSON.stringify(data);
  const request = { routeKey, headers: signed(body, now), path: pathOf(claims), body };
  return { request, isTrue: true, isOurUrl: true, jobId: claims.jobId };
}

function forgedEvent(random: Seeded, now: number): Posted {
  const { request, jobId } = trueEvent(random, now);
  const { path = {}, headers, body = '' } = request;
  const forged = (changed: Partial<RawRequest>): Posted => {
    const sent = { ...request, ...changed };
    const isOurUrl = JSON.stringify(sent.path) === JSON.stringify(path);
    return { request: sent, isTrue: JSON.stringify(sent) === JSON.stringify(request), isOurUrl, jobId };
  };
  const header = (name: string, value: string) =>
    headers.map(([each, sent]) => [each, each === name ? value : sent] as const);
  switch (random.below(12)) {
    case 0:
      return forged({ path: { ...path, token: pathOf(someClaims(random))['token'] ?? '' } });
    case 1:
      return forged({ path: { ...path, jobId: someClaims(random).jobId } });
    case 2: {
      const generation = random.pick([
        '0',
        '01',
        '3',
        '+1',
        '1e0',
        '1.0',
        ' 1',
        '-1',
        '٣',
        '１',
        '999999999',
        '9'.repeat(30),
      ]);
      return forged({ path: { ...path, generation } });
    }
    case 3:
      return forged({
        path: { ...path, vendor: random.pick(['studio-blind', 'Studio', 'studio/', '__proto__', 'constructor']) },
      });
    case 4:
      return forged({
        path: { ...path, [random.pick(['vendor', 'jobId', 'generation', 'token'])]: nastyText(random) },
      });
    case 5:
      return forged({
        headers: signed(body, now, random.pick(['whsec_', 'whsec_AAAA', 'another', signingSecret.current])),
      });
    case 6: {
      const away = webhookToleranceMs + 2_000 + random.below(1e9);
      return forged({ headers: signed(body, random.below(2) === 0 ? now - away : now + away) });
    }
    case 7:
      return forged({
        headers: header(
          'webhook-timestamp',
          random.pick(['0', '-1', 'NaN', '1e9', ' 1767268860', '１', '', nastyText(random)]),
        ),
      });
    case 8:
      return forged({ headers: header('webhook-id', `event-1${random.pick(['.', '.1', ' ', 'x', '\0'])}`) });
    case 9:
      return forged({
        headers: header(
          'webhook-signature',
          random.pick(['', 'v1,', 'v1', 'v2,x', 'v1,=', `v1a,${'A'.repeat(44)}`, nastyText(random)]),
        ),
      });
    case 10: {
      const leaving = random.below(headers.length);
      return forged({ headers: headers.filter((_, index) => index !== leaving) });
    }
    default: {
      const changed = Buffer.from(body.length === 0 ? 'x' : body);
      const at = random.below(changed.length);
      changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
      return forged({ body: random.below(4) === 0 ? Buffer.concat([changed, Buffer.from(' ')]) : changed });
    }
  }
}

it(
  'events that the vendor did not send change nothing, and true ones their own job only',
  { timeout: suiteTimeoutMs },
  async () => {
    const statuses = new Map<string, number>();
    const wrong: string[] = [];
    let target = await Target.open(photo);
    for (let run = 0; run < runsOf(4_000) && wrong.length < 10; run += 1) {
      if (run % eventsPerTarget === 0) target = await Target.open(photo);
      const seed = firstSeed + run;
      const random = new Seeded(seed);
      const { request, isTrue, isOurUrl, jobId } = (random.below(4) === 0 ? trueEvent : forgedEvent)(
        random,
        target.clock.now(),
      );
      const before = target.snapshot();
      target.effects.length = 0;
      // The body that is signed is bytes: only in base64 do they arrive as they are.
      const answer = await inTime(target.send(eventOf(request, false)), seed);
      const found = wrongWithAnswer(answer);
      const changed = changesOf(before, target.snapshot());
      const name = `${isTrue ? 'true' : 'forged'} ${answer.status}`;
      statuses.set(name, (statuses.get(name) ?? 0) + 1);
      if (!isTrue && answer.status < 400) found.push(`a forged event was answered ${answer.status}`);
      // Without a token for exactly this path nobody is told even whether there is such a job.
      if (!isOurUrl && answer.status !== 401) found.push(`a forged URL was answered ${answer.status}`);
      if (answer.status >= 400 && target.effects.length > 0)
        found.push(`refused, and did ${JSON.stringify(target.effects)}`);
      if (answer.status >= 400 && changed.length > 0) found.push(`refused, and changed ${changed.join(', ')}`);
      const others = changed.filter((thing) => !thing.endsWith(`job ${jobId}`));
      if (others.length > 0) found.push(`changed ${others.join(', ')}`);
      const { text = '' } = answer;
      if (residents.some(({ canary }) => text.includes(canary))) found.push('tells a vendor of an owner');
      if (found.length > 0) wrong.push(`seed ${seed}: ${found.join('; ')}: ${JSON.stringify(request).slice(0, 700)}`);
    }
    expect(wrong).toEqual([]);
    const expected = ['true 204', 'true 400', 'forged 400', 'forged 401'];
    expect(expected.filter((each) => !statuses.has(each))).toEqual([]);
  },
);

it('a key without end, which only a vendor gone mad would send, is kept in short', async () => {
  const target = await Target.open(photo);
  const claims = {
    vendor: 'studio',
    jobId: idOf(residents[0] ?? expect.fail('Nobody lives here.'), 'running'),
    generation: 1,
  };
  const body = JSON.stringify({ id: 'vendor-1', key: 'k'.repeat(2_000_000) });
  const request = { routeKey, headers: signed(body, target.clock.now()), path: pathOf(claims), body };
  const answer = await target.send(eventOf(request, false));
  expect([answer.status, wrongWithAnswer(answer)]).toEqual([204, []]);
  const [, kept] = await target.evidence.read(claims.jobId);
  expect(kept?.detail['vendorKey']).toBe('k'.repeat(200));
});
