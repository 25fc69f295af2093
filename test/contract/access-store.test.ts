import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AccessStore, ApiKey, Principal } from '../../lambdas/domain/access.ts';
import { DynamoAccessStore } from '../../lambdas/store/dynamo-access-store.ts';
import { MemoryAccessStore } from '../fakes/memory-access-store.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';

const HASH = 'a'.repeat(64);
const OTHER_HASH = 'b'.repeat(64);
const KEY: ApiKey = { id: 'key_1', tenant: 'acme', name: 'web', scopes: ['jobs', 'act-for-user'], createdAtMs: 1_000 };
const PRINCIPAL: Principal = {
  tenant: 'acme',
  user: 'ann',
  kind: 'client-token',
  scopes: ['jobs'],
  features: ['upscale'],
  maxJobs: 3,
};

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

describe.each<[string, () => Promise<AccessStore>]>([
  ['MemoryAccessStore', () => Promise.resolve(new MemoryAccessStore())],
  ['DynamoAccessStore', async () => new DynamoAccessStore(dynamo.client, await dynamo.createTable())],
])('%s', (_, create) => {
  let store: AccessStore;
  beforeEach(async () => {
    store = await create();
  });

  describe('keys', () => {
    it('finds a key by the hash of its secret only', async () => {
      expect(await store.createKey(HASH, KEY)).toEqual({ kind: 'created' });
      expect(await store.findKey(HASH)).toEqual(KEY);
      expect(await store.findKey(OTHER_HASH)).toBeUndefined();
    });

    it('takes the same creation twice, as a retry whose first answer was lost', async () => {
      await store.createKey(HASH, KEY);
      expect(await store.createKey(HASH, KEY)).toEqual({ kind: 'created' });
      expect(await store.listKeys()).toEqual([KEY]);
    });

    it('never replaces a key by another with its secret or its id', async () => {
      await store.createKey(HASH, KEY);
      expect(await store.createKey(HASH, { ...KEY, id: 'key_2', tenant: 'evil' })).toEqual({ kind: 'already_exists' });
      expect(await store.createKey(OTHER_HASH, { ...KEY, tenant: 'evil' })).toEqual({ kind: 'already_exists' });
      expect(await store.listKeys()).toEqual([KEY]);
      expect(await store.findKey(OTHER_HASH)).toBeUndefined();
    });

    it('lists all keys, oldest first', async () => {
      await store.createKey(HASH, KEY);
      const older = { ...KEY, id: 'key_9', createdAtMs: 500 };
      await store.createKey(OTHER_HASH, older);
      expect(await store.listKeys()).toEqual([older, KEY]);
    });

    it('revokes once, and keeps the first time', async () => {
      await store.createKey(HASH, KEY);
      const revoked = { ...KEY, revokedAtMs: 2_000 };
      expect(await store.revokeKey('key_1', 2_000)).toEqual({ kind: 'revoked', key: revoked });
      expect(await store.revokeKey('key_1', 3_000)).toEqual({ kind: 'already_revoked', key: revoked });
      expect(await store.findKey(HASH)).toEqual(revoked);
      expect(await store.revokeKey('key_2', 2_000)).toEqual({ kind: 'not_found' });
    });

    it('notes the latest use, and none of a key that is not there', async () => {
      await store.createKey(HASH, KEY);
      await store.noteKeyUse(HASH, 5_000);
      await store.noteKeyUse(HASH, 4_000);
      await store.noteKeyUse(OTHER_HASH, 5_000);
      expect(await store.findKey(HASH)).toEqual({ ...KEY, lastUsedAtMs: 5_000 });
      expect(await store.findKey(OTHER_HASH)).toBeUndefined();
    });
  });

  describe('tickets', () => {
    it('admits once', async () => {
      await store.putTicket(HASH, { principal: PRINCIPAL, expiresAtMs: 60_000 });
      expect(await store.useTicket(HASH, 1_000)).toEqual({ kind: 'admitted', principal: PRINCIPAL });
      expect(await store.useTicket(HASH, 1_000)).toEqual({ kind: 'unknown' });
    });

    it('admits exactly one of many at once', async () => {
      await store.putTicket(HASH, { principal: PRINCIPAL, expiresAtMs: 60_000 });
      const uses = await Promise.all(Array.from({ length: 8 }, () => store.useTicket(HASH, 1_000)));
      expect(uses.filter(({ kind }) => kind === 'admitted')).toHaveLength(1);
      expect(uses.filter(({ kind }) => kind === 'unknown')).toHaveLength(7);
    });

    it('does not admit from the moment of expiry on, and not later either', async () => {
      await store.putTicket(HASH, { principal: PRINCIPAL, expiresAtMs: 60_000 });
      expect(await store.useTicket(HASH, 60_000)).toEqual({ kind: 'expired' });
      expect(await store.useTicket(HASH, 1_000)).toEqual({ kind: 'unknown' });
    });

    it('does not know what was never issued', async () => {
      await store.putTicket(HASH, { principal: PRINCIPAL, expiresAtMs: 60_000 });
      expect(await store.useTicket(OTHER_HASH, 1_000)).toEqual({ kind: 'unknown' });
    });
  });
});
