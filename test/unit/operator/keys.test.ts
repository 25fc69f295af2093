import { beforeEach, describe, expect, it } from 'vitest';
import { secretSha256 } from '../../../lambdas/domain/access.ts';
import { manageKeys } from '../../../operator/keys.ts';
import { HelpWanted, UsageError } from '../../../operator/usage.ts';
import { explainAws } from '../../../operator/aws-terminal.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { MemoryAccessStore } from '../../fakes/memory-access-store.ts';

let store: MemoryAccessStore;
let clock: ManualClock;
let printed: string[];
let explained: string[];
let opened: [string, string | undefined][];
beforeEach(() => {
  store = new MemoryAccessStore();
  clock = new ManualClock();
  printed = [];
  explained = [];
  opened = [];
});

const keys = (line: string) =>
  manageKeys(line.split(' '), {
    openStore: (environment, table) => {
      opened.push([environment, table]);
      return Promise.resolve(store);
    },
    clock,
    print: (text) => printed.push(text),
    explain: (text) => explained.push(text),
  });

describe('create', () => {
  it('prints the key once and stores its hash', async () => {
    await keys('create --environment prod --tenant acme --name web --scopes jobs,act-for-user');
    expect(printed).toHaveLength(1);
    const [secret = ''] = printed;
    expect(secret).toMatch(/^sl_prod_[0-9A-Za-z]{32}$/);
    const key = await store.findKey(secretSha256(secret));
    expect(key).toMatchObject({
      tenant: 'acme',
      name: 'web',
      scopes: ['jobs', 'act-for-user'],
      createdAtMs: clock.now(),
    });
    expect(JSON.stringify(await store.listKeys())).not.toContain(secret);
    expect(explained.join()).not.toContain(secret);
  });

  it('never makes the same key twice, and gives jobs only unless told more', async () => {
    for (let made = 0; made < 50; made += 1) await keys('create --environment dev --tenant acme --name web');
    expect(new Set(printed).size).toBe(50);
    const all = await store.listKeys();
    expect(new Set(all.map(({ id }) => id)).size).toBe(50);
    expect(all.every(({ scopes }) => scopes.join() === 'jobs')).toBe(true);
  });
});

it('lists keys without anything that opens a door', async () => {
  await keys('create --environment prod --tenant acme --name web');
  const secret = printed.pop() ?? '';
  await keys('list --environment prod --table jobs-table');
  expect(opened.at(-1)).toEqual(['prod', 'jobs-table']);
  expect(printed).toHaveLength(1);
  expect(printed[0]).toContain('acme\tjobs\tactive\tcreated 2026-01-01T00:00:00.000Z, used never\tweb');
  expect(printed[0]).not.toContain(secret);
  expect(printed[0]).not.toContain(secretSha256(secret));
});

it('revokes a key, once', async () => {
  await keys('create --environment prod --tenant acme --name web');
  const id = (await store.listKeys())[0]?.id;
  await keys(`revoke --environment prod ${id}`);
  expect((await store.listKeys())[0]?.revokedAtMs).toBe(clock.now());
  await keys(`revoke --environment prod ${id}`);
  expect(explained.at(-1)).toContain('was revoked before');
  await expect(keys('revoke --environment prod key_none')).rejects.toThrow(UsageError);
});

it.each([
  'create --tenant acme --name web',
  'create --environment Prod/1 --tenant acme --name web',
  'create --environment prod --name web',
  'create --environment prod --tenant .. --name web',
  'create --environment prod --tenant acme',
  'create --environment prod --tenant acme --name web --scopes jobs,root',
  'create --environment prod --tenant acme --name web --colour red',
  'revoke --environment prod',
  'destroy --environment prod',
  '--environment prod',
])('refuses `%s` before it opens anything', async (line) => {
  await expect(keys(line)).rejects.toThrow(UsageError);
  expect(await store.listKeys()).toEqual([]);
  expect(printed).toEqual([]);
});

it('knows --help, whatever else is said', async () => {
  await expect(keys('--help')).rejects.toThrow(HelpWanted);
  await expect(keys('create -h')).rejects.toThrow(HelpWanted);
});

describe('without access to AWS', () => {
  it('says what is missing, not where it was noticed', () => {
    expect(explainAws(new Error('Region is missing'))).toContain('AWS_REGION');
    const noCredentials = Object.assign(new Error('Could not load'), { name: 'CredentialsProviderError' });
    expect(explainAws(noCredentials)).toContain('AWS_PROFILE');
    const denied = Object.assign(new Error('not you'), { name: 'AccessDeniedException', $metadata: {} });
    expect(explainAws(denied)).toBe('AWS refuses: not you (AccessDeniedException)');
  });

  it('leaves our own faults alone', () => {
    expect(explainAws(new TypeError('x is not a function'))).toBeUndefined();
  });
});
