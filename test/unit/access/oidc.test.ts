import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type CryptoKey, type JWK } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TokenVerifier } from '../../../lambdas/domain/access.ts';
import { createOidcVerifier } from '../../../lambdas/issuers/oidc.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

/** An identity provider: its discovery document, its keys, and a log of what was asked of it. */
class IdentityProvider {
  readonly #server: Server;
  readonly asked: string[] = [];
  keys: JWK[] = [];
  status = 200;
  issuer = '';
  claimedIssuer: string | undefined;

  constructor() {
    this.#server = createServer((request, response) => {
      this.asked.push(request.url ?? '');
      const body = request.url?.endsWith('/.well-known/openid-configuration')
        ? { issuer: this.claimedIssuer ?? this.issuer, jwks_uri: `${new URL(this.issuer).origin}/somewhere/keys` }
        : { keys: this.keys };
      response.writeHead(this.status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((listening) => this.#server.listen(0, '127.0.0.1', listening));
    this.issuer = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/realm/`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  async addKey(kid: string, alg: string): Promise<CryptoKey> {
    const { privateKey, publicKey } = await generateKeyPair(alg);
    this.keys.push({ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' });
    return privateKey;
  }
}

let idp: IdentityProvider;
let key: CryptoKey;
let clock: ManualClock;
let verifier: TokenVerifier;
beforeEach(async () => {
  idp = new IdentityProvider();
  await idp.start();
  key = await idp.addKey('k1', 'ES256');
  clock = new ManualClock();
  verifier = createOidcVerifier({ issuers: [settings(idp)], clock });
});
afterEach(() => idp.stop());

const settings = ({ issuer }: IdentityProvider) => ({ issuer, audience: 'app', tenantClaim: 'custom:tenant' });
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

interface Made {
  alg?: string;
  kid?: string;
  claims?: Record<string, unknown>;
  signedBy?: CryptoKey | Uint8Array;
}

const claimsOf = (changed: Record<string, unknown> = {}) => ({
  iss: idp.issuer,
  aud: 'app',
  sub: 'auth0|ann',
  'custom:tenant': 'acme',
  exp: inSeconds(600),
  ...changed,
});

const make = ({ alg = 'ES256', kid = 'k1', claims, signedBy = key }: Made = {}): Promise<string> =>
  new SignJWT(claimsOf(claims)).setProtectedHeader({ alg, kid }).sign(signedBy);

const principal = { tenant: 'acme', user: 'auth0|ann', kind: 'oidc', scopes: ['jobs'] };

it.each(['ES256', 'RS256', 'EdDSA'])('knows a user by a token signed with %s', async (alg) => {
  const signedBy = await idp.addKey(alg, alg);
  expect(await verifier.verify(await make({ alg, kid: alg, signedBy }))).toEqual({ kind: 'valid', principal });
});

it('finds the keys where the issuer says that they are, and keeps them', async () => {
  await verifier.verify(await make());
  await verifier.verify(await make());
  expect(idp.asked).toEqual(['/realm/.well-known/openid-configuration', '/somewhere/keys']);
});

it.each<[string, () => Made]>([
  ['for another audience', () => ({ claims: { aud: 'other-app' } })],
  ['without an audience', () => ({ claims: { aud: undefined } })],
  ['not good yet', () => ({ claims: { nbf: inSeconds(600) } })],
  ['without a tenant', () => ({ claims: { 'custom:tenant': undefined } })],
  ['with a tenant that is no name', () => ({ claims: { 'custom:tenant': ['acme'] } })],
  ['with a tenant that climbs in paths', () => ({ claims: { 'custom:tenant': '..' } })],
  ['without a user', () => ({ claims: { sub: undefined } })],
  ['for the server itself', () => ({ claims: { sub: '-' } })],
  ['with an unknown key', () => ({ kid: 'k2' })],
])('refuses a token %s', async (_, made) => {
  expect(await verifier.verify(await make(made()))).toEqual({ kind: 'invalid' });
});

it('refuses a token that another key signed in the name of a known one', async () => {
  const { privateKey } = await generateKeyPair('ES256');
  expect(await verifier.verify(await make({ signedBy: privateKey }))).toEqual({ kind: 'invalid' });
});

it('refuses a token without signature, and one that takes the public key for an HMAC secret', async () => {
  expect(await verifier.verify(new UnsecuredJWT(claimsOf()).encode())).toEqual({ kind: 'invalid' });
  const publicKey = Buffer.from(JSON.stringify(idp.keys[0]));
  expect(await verifier.verify(await make({ alg: 'HS256', signedBy: publicKey }))).toEqual({ kind: 'invalid' });
});

it('refuses a changed token', async () => {
  const [header, , signature] = (await make()).split('.');
  const changed = Buffer.from(JSON.stringify(claimsOf({ sub: 'eve' }))).toString('base64url');
  expect(await verifier.verify(`${header}.${changed}.${signature}`)).toEqual({ kind: 'invalid' });
});

it('says that a token has expired', async () => {
  expect(await verifier.verify(await make({ claims: { exp: inSeconds(-60) } }))).toEqual({ kind: 'expired' });
});

it('does not know tokens of issuers that nobody named, and never asks them', async () => {
  const other = new IdentityProvider();
  await other.start();
  try {
    const signedBy = await other.addKey('k1', 'ES256');
    const token = await make({ claims: { iss: other.issuer }, signedBy });
    expect(await verifier.verify(token)).toEqual({ kind: 'foreign' });
    expect(await createOidcVerifier({ issuers: [], clock }).verify(token)).toEqual({ kind: 'foreign' });
    expect(other.asked).toEqual([]);
  } finally {
    await other.stop();
  }
});

it('keeps the keys and audiences of two issuers apart', async () => {
  const other = new IdentityProvider();
  await other.start();
  try {
    const otherKey = await other.addKey('k1', 'ES256');
    const both = createOidcVerifier({
      issuers: [settings(idp), { issuer: other.issuer, audience: 'other-app', tenantClaim: 'org' }],
      clock,
    });
    const claims = { iss: other.issuer, aud: 'other-app', org: 'globex' };
    expect(await both.verify(await make())).toEqual({ kind: 'valid', principal });
    expect(await both.verify(await make({ claims, signedBy: otherKey }))).toEqual({
      kind: 'valid',
      principal: { ...principal, tenant: 'globex' },
    });
    expect(await both.verify(await make({ claims }))).toEqual({ kind: 'invalid' });
    expect(await both.verify(await make({ claims: { ...claims, aud: 'app' }, signedBy: otherKey }))).toEqual({
      kind: 'invalid',
    });
  } finally {
    await other.stop();
  }
});

describe('when the issuer is in trouble', () => {
  it('decides nothing while its keys were never read', async () => {
    idp.status = 503;
    expect((await verifier.verify(await make())).kind).toBe('undecided');
    idp.status = 200;
    expect((await verifier.verify(await make())).kind).toBe('valid');
  });

  it('decides nothing by a discovery document of another issuer', async () => {
    idp.claimedIssuer = 'https://evil.example';
    expect((await verifier.verify(await make())).kind).toBe('undecided');
  });

  it('goes on with the keys that it has', async () => {
    await verifier.verify(await make());
    idp.status = 503;
    await clock.advance(2 * 60 * 60_000);
    expect((await verifier.verify(await make())).kind).toBe('valid');
  });
});

describe('when keys change', () => {
  it('takes a new key at once', async () => {
    await verifier.verify(await make());
    const signedBy = await idp.addKey('k2', 'ES256');
    expect((await verifier.verify(await make({ kid: 'k2', signedBy }))).kind).toBe('valid');
  });

  it('drops a withdrawn key within the hour', async () => {
    const token = await make();
    await verifier.verify(token);
    idp.keys = [];
    await idp.addKey('k2', 'ES256');
    await clock.advance(59 * 60_000);
    expect((await verifier.verify(token)).kind).toBe('valid');
    await clock.advance(60_000);
    expect((await verifier.verify(token)).kind).toBe('invalid');
  });
});
