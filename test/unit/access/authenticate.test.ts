import { beforeEach, describe, expect, it } from 'vitest';
import { secretSha256, type Scope, type TokenVerdict } from '../../../lambdas/domain/access.ts';
import { createAuthenticator, type Authenticator } from '../../../lambdas/http/authenticate.ts';
import { createLog } from '../../../lambdas/runtime/log.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { MemoryAccessStore } from '../../fakes/memory-access-store.ts';

class CountingAccessStore extends MemoryAccessStore {
  reads = 0;
  notes = 0;
  noteFails = false;

  override findKey(keySha256: string) {
    this.reads += 1;
    return super.findKey(keySha256);
  }

  override noteKeyUse(keySha256: string, usedAtMs: number) {
    this.notes += 1;
    return this.noteFails ? Promise.reject(new Error('throttled')) : super.noteKeyUse(keySha256, usedAtMs);
  }
}

const SECRET = 'local-demo-key';
const TOKEN = 'header.payload.signature';
const user = { tenant: 'acme', user: 'ann', kind: 'client-token', scopes: ['jobs'] } as const;

let clock: ManualClock;
let access: CountingAccessStore;
let lines: string[];
let verdicts: TokenVerdict[];
let authenticator: Authenticator;
beforeEach(() => {
  clock = new ManualClock();
  access = new CountingAccessStore();
  lines = [];
  verdicts = [];
  authenticator = createAuthenticator({
    access,
    clock,
    log: createLog({ environment: 'test', function: 'read-job', clock, writeLine: (line) => lines.push(line) }),
    // One verifier for each verdict.
    tokens: [0, 1].map((index) => ({
      verify: () => Promise.resolve(verdicts[index] ?? { kind: 'foreign' }),
    })),
  });
});

const seed = (scopes: readonly Scope[] = ['jobs', 'act-for-user']) =>
  access.createKey(secretSha256(SECRET), { id: 'key_1', tenant: 'acme', name: 'web', scopes, createdAtMs: 0 });
const ask = (headers: Record<string, string>, scope: Scope = 'jobs') => authenticator.authenticate({ headers }, scope);
const withKey = { 'x-api-key': SECRET };
const withToken = { authorization: `Bearer ${TOKEN}` };
const principal = { kind: 'key', keyId: 'key_1', tenant: 'acme', user: '-', scopes: ['jobs', 'act-for-user'] };

it('refuses who shows nothing, or two things', async () => {
  await seed();
  expect(await ask({})).toEqual({ kind: 'refused', code: 'credentials_missing' });
  expect(await ask({ ...withKey, ...withToken })).toEqual({ kind: 'refused', code: 'credentials_ambiguous' });
});

describe('by key', () => {
  it('knows a server, and the user that it acts for', async () => {
    await seed();
    expect(await ask(withKey)).toEqual({ kind: 'principal', principal });
    expect(await ask({ ...withKey, 'slowlane-user': 'ann' })).toEqual({
      kind: 'principal',
      principal: { ...principal, user: 'ann' },
    });
  });

  it.each(['', '-', '.', '..', 'a b', 'ü', 'x'.repeat(129)])('refuses to act for %j', async (name) => {
    await seed();
    expect(await ask({ ...withKey, 'slowlane-user': name })).toEqual({ kind: 'refused', code: 'user_header_invalid' });
  });

  it('refuses to act for a user without that scope, and anything else without its own', async () => {
    await seed(['jobs']);
    expect(await ask({ ...withKey, 'slowlane-user': 'ann' })).toMatchObject({ kind: 'refused', code: 'forbidden' });
    expect(await ask(withKey, 'operator')).toMatchObject({ kind: 'refused', code: 'forbidden' });
    expect(await ask(withKey, 'tokens')).toMatchObject({ kind: 'refused', code: 'forbidden' });
  });

  it.each(['', 'other', `${SECRET} `, SECRET.toUpperCase(), secretSha256(SECRET)])(
    'does not know %j',
    async (secret) => {
      await seed();
      expect(await ask({ 'x-api-key': secret })).toEqual({ kind: 'refused', code: 'credentials_invalid' });
    },
  );

  it('takes a new key at once, though it was asked for before it existed', async () => {
    expect((await ask(withKey)).kind).toBe('refused');
    await seed();
    expect((await ask(withKey)).kind).toBe('principal');
  });

  it('reads a busy key every half minute, and so drops a revoked one', async () => {
    await seed();
    for (let second = 0; second < 30; second += 1) {
      expect((await ask(withKey)).kind).toBe('principal');
      await clock.advance(1_000);
    }
    expect(access.reads).toBe(1);
    await access.revokeKey('key_1', clock.now());
    expect(await ask(withKey)).toEqual({ kind: 'refused', code: 'credentials_invalid' });
  });

  it('reads again after half a minute though it noted a use meanwhile', async () => {
    await seed();
    await ask(withKey);
    await clock.advance(29_999);
    await access.revokeKey('key_1', clock.now());
    expect((await ask(withKey)).kind).toBe('principal');
    await clock.advance(1);
    expect((await ask(withKey)).kind).toBe('refused');
  });

  it('notes its use once an hour', async () => {
    await seed();
    const firstUseMs = clock.now();
    for (let minute = 0; minute < 60; minute += 1) {
      await ask(withKey);
      await clock.advance(60_000);
    }
    expect(access.notes).toBe(1);
    expect((await access.listKeys())[0]?.lastUsedAtMs).toBe(firstUseMs);
    await ask(withKey);
    expect(access.notes).toBe(2);
  });

  it('lets nobody down because a use could not be noted', async () => {
    await seed();
    access.noteFails = true;
    expect((await ask(withKey)).kind).toBe('principal');
    expect(lines.join()).toContain('"event":"key_use_not_noted"');
    expect(lines.join()).not.toContain(SECRET);
  });
});

describe('by token', () => {
  it('asks each verifier until one knows the issuer', async () => {
    verdicts = [{ kind: 'foreign' }, { kind: 'valid', principal: user }];
    expect(await ask(withToken)).toEqual({ kind: 'principal', principal: user });
    verdicts = [{ kind: 'invalid' }, { kind: 'valid', principal: user }];
    expect(await ask(withToken)).toEqual({ kind: 'refused', code: 'credentials_invalid' });
    verdicts = [];
    expect(await ask(withToken)).toEqual({ kind: 'refused', code: 'credentials_invalid' });
  });

  it('tells expired from undecided', async () => {
    verdicts = [{ kind: 'expired' }];
    expect(await ask(withToken)).toEqual({ kind: 'refused', code: 'credentials_expired' });
    verdicts = [{ kind: 'undecided', cause: new Error('no answer') }];
    expect(await ask(withToken)).toEqual({ kind: 'refused', code: 'issuer_unreachable', retryAfterSeconds: 10 });
    expect(lines.join()).toContain('"event":"issuer_unreachable"');
  });

  it('acts for its own user only', async () => {
    verdicts = [{ kind: 'valid', principal: user }];
    expect(await ask({ ...withToken, 'slowlane-user': 'ann' })).toMatchObject({ kind: 'principal' });
    expect(await ask({ ...withToken, 'slowlane-user': 'bob' })).toMatchObject({ kind: 'refused', code: 'forbidden' });
  });

  it('gives a user no more than jobs', async () => {
    verdicts = [{ kind: 'valid', principal: user }];
    expect(await ask(withToken, 'operator')).toMatchObject({ kind: 'refused', code: 'forbidden' });
    expect(await ask(withToken, 'tokens')).toMatchObject({ kind: 'refused', code: 'forbidden' });
  });

  it.each(['', TOKEN, `Basic ${TOKEN}`, 'Bearer', 'Bearer a.b', 'Bearer a.b.c d', `Bearer ${TOKEN}, Bearer ${TOKEN}`])(
    'refuses %j',
    async (authorization) => {
      verdicts = [{ kind: 'valid', principal: user }];
      expect(await ask({ authorization })).toEqual({ kind: 'refused', code: 'credentials_invalid' });
    },
  );
});
