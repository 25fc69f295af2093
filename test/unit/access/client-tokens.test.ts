import { createHmac } from 'node:crypto';
import { SignJWT, generateKeyPair, jwtVerify } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { createClientTokens } from '../../../lambdas/issuers/client-tokens.ts';
import type { Secret, SigningSecret } from '../../../lambdas/runtime/secrets.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

const FIRST = 'first-signing-secret';
const SECOND = 'second-signing-secret';
const ANN = { tenant: 'acme', user: 'ann', expiresInSeconds: 600 };

/** A sandbox's view of the secret: it may remember an old one until it is told to read again. */
class RotatingSecret implements Secret<SigningSecret> {
  stored: SigningSecret = { current: FIRST };
  #remembered: SigningSecret = this.stored;
  refreshes = 0;

  read(): Promise<SigningSecret> {
    return Promise.resolve(this.#remembered);
  }

  refresh(): Promise<SigningSecret> {
    this.refreshes += 1;
    this.#remembered = this.stored;
    return Promise.resolve(this.#remembered);
  }
}

let clock: ManualClock;
let secret: RotatingSecret;
let tokens: ReturnType<typeof createClientTokens>;
beforeEach(() => {
  clock = new ManualClock();
  secret = new RotatingSecret();
  tokens = createClientTokens({ secret, clock });
});

const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url');
const decode = (part = ''): Record<string, unknown> =>
  JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
const keyOf = (signingSecret: string): Buffer =>
  createHmac('sha256', signingSecret).update('slowlane/client-token/v1').digest();

/** A token as good as ours but for what the test changes, signed with our own key. */
async function forge(change: { header?: object; claims?: object }): Promise<string> {
  const { token } = await tokens.mint(ANN);
  const [header, claims] = token.split('.');
  const signed = `${encode({ ...decode(header), ...change.header })}.${encode({ ...decode(claims), ...change.claims })}`;
  return `${signed}.${createHmac('sha256', keyOf(FIRST)).update(signed).digest('base64url')}`;
}

describe('a token that we minted', () => {
  it('carries its user, features and limit, and the right to jobs only', async () => {
    const { token, expiresAtMs } = await tokens.mint({ ...ANN, features: ['upscale'], maxJobs: 2 });
    expect(expiresAtMs).toBe(clock.now() + 600_000);
    expect(await tokens.verify(token)).toEqual({
      kind: 'valid',
      principal: {
        tenant: 'acme',
        user: 'ann',
        kind: 'client-token',
        scopes: ['jobs'],
        features: ['upscale'],
        maxJobs: 2,
      },
    });
  });

  it('is a plain HS256 JWT to other libraries', async () => {
    const { token } = await tokens.mint(ANN);
    const { payload } = await jwtVerify(token, keyOf(FIRST), {
      audience: 'slowlane',
      currentDate: new Date(clock.now()),
    });
    expect(payload.sub).toBe('ann');
  });

  it('expires at its moment', async () => {
    const { token } = await tokens.mint(ANN);
    await clock.advance(599_999);
    expect((await tokens.verify(token)).kind).toBe('valid');
    await clock.advance(1);
    expect((await tokens.verify(token)).kind).toBe('expired');
  });

  it('survives one rotation and not two', async () => {
    const { token } = await tokens.mint(ANN);
    secret.stored = { current: SECOND, previous: FIRST };
    await secret.refresh();
    expect((await tokens.verify(token)).kind).toBe('valid');
    secret.stored = { current: 'a-third-signing-secret', previous: SECOND };
    await secret.refresh();
    expect((await tokens.verify(token)).kind).toBe('invalid');
  });

  it('is known by a sandbox that has not heard of the rotation', async () => {
    const ahead = new RotatingSecret();
    ahead.stored = { current: SECOND, previous: FIRST };
    await ahead.refresh();
    const { token } = await createClientTokens({ secret: ahead, clock }).mint(ANN);
    secret.stored = ahead.stored;
    expect((await tokens.verify(token)).kind).toBe('valid');
    expect(secret.refreshes).toBe(1);
  });
});

describe('a token that we did not mint', () => {
  it.each([
    ['alg none', { header: { alg: 'none' } }],
    ['another HMAC', { header: { alg: 'HS512' } }],
    ['an asymmetric algorithm', { header: { alg: 'RS256' } }],
    ['no key id', { header: { kid: undefined } }],
    ['another audience', { claims: { aud: 'elsewhere' } }],
    ['a list of audiences', { claims: { aud: ['slowlane', 'elsewhere'] } }],
    ['no expiry', { claims: { exp: undefined } }],
    ['a life longer than may be granted', { claims: { exp: 4_000_000_000 } }],
    ['no tenant', { claims: { tenant: undefined } }],
    ['the name of the server itself', { claims: { sub: '-' } }],
    ['a user whose name climbs in paths', { claims: { sub: '..' } }],
  ])('is invalid with %s, though signed with our key', async (_, change) => {
    expect(await tokens.verify(await forge(change))).toEqual({ kind: 'invalid' });
  });

  it('is invalid without its signature', async () => {
    const token = await forge({ header: { alg: 'none' } });
    expect(await tokens.verify(token.slice(0, token.lastIndexOf('.') + 1))).toEqual({ kind: 'invalid' });
  });

  it('is invalid after any change of a character', async () => {
    const { token } = await tokens.mint(ANN);
    const [header, claims, signature = ''] = token.split('.');
    const tampered = encode({ ...decode(claims), tenant: 'other' });
    expect(await tokens.verify(`${header}.${tampered}.${signature}`)).toEqual({ kind: 'invalid' });
    // The last character of a SHA-256 in base64url has bits to spare: another may decode to the same bytes.
    const others = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      .split('')
      .filter((character) => character !== signature.at(-1));
    for (const other of others) {
      expect(await tokens.verify(`${header}.${claims}.${signature.slice(0, -1)}${other}`)).toEqual({ kind: 'invalid' });
    }
  });

  it('is invalid under another secret, or under the signing secret used as it is', async () => {
    const { token } = await tokens.mint(ANN);
    const [header = '', claims = ''] = token.split('.');
    for (const key of [keyOf(SECOND), Buffer.from(FIRST)]) {
      const signature = createHmac('sha256', key).update(`${header}.${claims}`).digest('base64url');
      expect(await tokens.verify(`${header}.${claims}.${signature}`)).toEqual({ kind: 'invalid' });
    }
  });

  it('is foreign when another issuer made it, or nobody', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    const token = await new SignJWT({}).setProtectedHeader({ alg: 'ES256' }).setIssuer('https://idp').sign(privateKey);
    expect(await tokens.verify(token)).toEqual({ kind: 'foreign' });
    for (const garbage of [
      '',
      'a.b.c',
      'a.b',
      `${encode({})}.${encode('text')}.x`,
      `${encode({})}.${encode(null)}.x`,
    ]) {
      expect(await tokens.verify(garbage)).toEqual({ kind: 'foreign' });
    }
  });
});

it('mints nothing that no verifier would accept', async () => {
  for (const wrong of [
    { user: '-' },
    { user: '' },
    { expiresInSeconds: 59 },
    { expiresInSeconds: 86_401 },
    { maxJobs: 0 },
  ]) {
    await expect(tokens.mint({ ...ANN, ...wrong })).rejects.toThrow('no verifier would accept');
  }
});
