import { createHmac } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Seeded } from '../fixtures/seeded.ts';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';
import { idOf, residents } from './canaries.ts';
import { nastyText } from './nasty.ts';
import { eventOf } from './request.ts';
import { firstSeed, runsOf, suiteTimeoutMs } from './runs.ts';
import { grantedKeys, revokedKey, signingSecret, Target, type TargetAnswer } from './target.ts';
import { wrongWithAnswer } from './verdict.ts';

/** Credentials and cursors that are almost right: each change of a good one makes it worthless, wherever it is. */

let photo: Uint8Array;
let target: Target;
beforeAll(async () => {
  photo = await photoWithPlace();
});
beforeEach(async () => {
  target = await Target.open(photo);
});

type Headers = readonly (readonly [string, string])[];

async function list(headers: Headers, query: Readonly<Record<string, string>> = {}): Promise<TargetAnswer> {
  return await target.send(eventOf({ routeKey: 'GET /api/v1/jobs', headers, query }, true));
}

const codeOf = ({ status, text }: TargetAnswer) =>
  `${status} ${String((JSON.parse(text ?? '') as { code?: unknown }).code)}`;

/** The text with one character changed, left out, doubled or added. */
function altered(text: string, random: Seeded): string {
  const at = random.below(text.length);
  switch (random.below(6)) {
    case 0:
      return text.slice(0, at) + text.slice(at + 1);
    case 1:
      return text.slice(0, at) + random.pick(['.', '-', '_', '=', '+', '/', ' ', 'A', 'a', '0']) + text.slice(at);
    case 2:
      return text.slice(0, at);
    case 3:
      return text + random.pick(['.', '=', 'A', '.A', '==']);
    case 4:
      return nastyText(random);
    default: {
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.';
      return text.slice(0, at) + alphabet.charAt(random.below(alphabet.length)) + text.slice(at + 1);
    }
  }
}

it('no altered client token lets anybody in', { timeout: suiteTimeoutMs }, async () => {
  const { token } = await target.clientTokens.mint({ tenant: 'acme', user: 'ann', expiresInSeconds: 600 });
  expect((await list([['Authorization', `Bearer ${token}`]])).status).toBe(200);
  for (let run = 0; run < runsOf(1_500); run += 1) {
    const seed = firstSeed + run;
    const forged = altered(token, new Seeded(seed));
    if (forged === token) continue;
    const answer = await list([['Authorization', `Bearer ${forged}`]]);
    expect([seed, forged, codeOf(answer), wrongWithAnswer(answer)]).toEqual([
      seed,
      forged,
      '401 credentials_invalid',
      [],
    ]);
  }
});

describe('forged client tokens', () => {
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const now = Date.UTC(2026, 0, 1, 12, 1) / 1000;
  const claims = { iss: 'slowlane', aud: 'slowlane', sub: 'ann', tenant: 'acme', iat: now, exp: now + 600 };
  const header = { alg: 'HS256', typ: 'JWT', kid: 'x' };
  const tokenOf = (head: unknown, said: unknown, key: string | Buffer) => {
    const signed = `${encode(head)}.${encode(said)}`;
    return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
  };
  const kidOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string };

  it.each<[string, (kid: string) => string]>([
    ['no algorithm', (kid) => `${encode({ ...header, kid, alg: 'none' })}.${encode(claims)}.`],
    [
      'no algorithm, and something as signature',
      (kid) => `${encode({ ...header, kid, alg: 'none' })}.${encode(claims)}.x`,
    ],
    ['another algorithm', (kid) => tokenOf({ ...header, kid, alg: 'HS512' }, claims, signingSecret.current)],
    ['the signing secret itself as key', (kid) => tokenOf({ ...header, kid }, claims, signingSecret.current)],
    ['an empty key', (kid) => tokenOf({ ...header, kid }, claims, '')],
    ['the name of the key as key', (kid) => tokenOf({ ...header, kid }, claims, kid)],
    [
      'a key that it brings along',
      (kid) => tokenOf({ ...header, kid, jwk: { kty: 'oct', k: 'AA' } }, claims, Buffer.alloc(1)),
    ],
    ['a path as the name of its key', () => tokenOf({ ...header, kid: '../../dev/null' }, claims, '')],
    ['a prototype as the name of its key', () => tokenOf({ ...header, kid: '__proto__' }, claims, '')],
    [
      'the key of cursors',
      (kid) => {
        const key = createHmac('sha256', signingSecret.current).update('slowlane/cursor/v1').digest();
        return tokenOf({ ...header, kid }, claims, key);
      },
    ],
  ])('with %s are refused', async (_, forge) => {
    const { token } = await target.clientTokens.mint({ tenant: 'acme', user: 'ann', expiresInSeconds: 600 });
    expect(codeOf(await list([['Authorization', `Bearer ${forge(kidOf(token).kid)}`]]))).toBe(
      '401 credentials_invalid',
    );
  });
});

it('no altered API key lets anybody in, and a revoked one neither', { timeout: suiteTimeoutMs }, async () => {
  const known = new Set(grantedKeys.map(({ secret }) => secret));
  expect(codeOf(await list([['X-API-Key', revokedKey]]))).toBe('401 credentials_invalid');
  for (let run = 0; run < runsOf(500); run += 1) {
    const random = new Seeded(firstSeed + run);
    const forged = altered(random.pick(grantedKeys).secret, random);
    if (known.has(forged)) continue;
    expect([forged, codeOf(await list([['X-API-Key', forged]]))]).toEqual([forged, '401 credentials_invalid']);
  }
});

describe('cursors', () => {
  const asServer: Headers = [['X-API-Key', 'sl_test_everything-of-evil']];
  const ann: Headers = [
    ['X-API-Key', 'sl_test_server-of-acme'],
    ['Slowlane-User', 'ann'],
  ];
  const ben: Headers = [
    ['X-API-Key', 'sl_test_server-of-acme'],
    ['Slowlane-User', 'ben'],
  ];
  const cursorOf = async (headers: Headers, query: Readonly<Record<string, string>>) =>
    String((JSON.parse((await list(headers, query)).text ?? '') as { nextCursor: unknown }).nextCursor);

  it('go on in the list that they came from, and in no other', async () => {
    const cursor = await cursorOf(ann, { limit: '1' });
    expect((await list(ann, { limit: '2', cursor })).status).toBe(200);
    for (const other of [ben, asServer]) expect(codeOf(await list(other, { cursor }))).toBe('400 cursor_invalid');
    expect(codeOf(await list(ann, { cursor, status: 'queued' }))).toBe('400 cursor_invalid');
    const flagged = { routeKey: 'GET /api/v1/operator/flagged', headers: asServer, query: { cursor } };
    expect(codeOf(await target.send(eventOf(flagged, true)))).toBe('400 cursor_invalid');
  });

  it('are refused once anything about them was altered', { timeout: suiteTimeoutMs }, async () => {
    const cursor = await cursorOf(ann, { limit: '1' });
    const ids = residents.map((one) => idOf(one, 'queued'));
    for (let run = 0; run < runsOf(1_500); run += 1) {
      const random = new Seeded(firstSeed + run);
      const [text = '', signature = ''] = cursor.split('.');
      const place = Buffer.from(JSON.stringify([0, random.pick(ids)])).toString('base64url');
      const forged = random.below(4) === 0 ? `${place}.${signature}` : altered(cursor, random);
      const isSame =
        forged.split('.')[1] === signature &&
        Buffer.from(forged.split('.')[0] ?? '', 'base64url').equals(Buffer.from(text, 'base64url'));
      if (isSame && forged.split('.').length === 2) continue;
      const code = forged === '' || forged.length > 2_000 ? '400 request_invalid' : '400 cursor_invalid';
      expect([forged, codeOf(await list(ann, { cursor: forged }))]).toEqual([forged, code]);
    }
  });

  it.each(['0', '-1', '51', '1e9', 'NaN', 'Infinity', '', ' ', '1.5', '0x', 'ten', '1,2', '9'.repeat(400)])(
    'a limit of %j is refused',
    async (limit) => {
      expect(codeOf(await list(ann, { limit }))).toBe('400 request_invalid');
    },
  );
});
