import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import {
  isUserName,
  SCOPES,
  secretSha256,
  type AccessStore,
  type ApiKey,
  type Scope,
} from '../lambdas/domain/access.ts';
import type { Clock } from '../lambdas/domain/ports.ts';
import { systemClock } from '../lambdas/runtime/clock.ts';
import { DynamoAccessStore } from '../lambdas/store/dynamo-access-store.ts';
import { runWithAws } from './aws-terminal.ts';
import { findTable } from './find-table.ts';
import { HelpWanted, UsageError } from './usage.ts';

const USAGE = `Manages the API keys of servers, in the table of one environment, with your own AWS credentials.

  npm run keys -- create --environment prod --tenant acme --name "web backend" --scopes jobs,act-for-user,tokens
  npm run keys -- list   --environment prod
  npm run keys -- revoke --environment prod key_4fJk2b9QmZ

  --table      the table's name, where it can't be found by the environment's (output TableName of its stack)
  --scopes     any of ${SCOPES.join(', ')}; \`jobs\` if left out

\`create\` prints the key once, alone on standard output; only its hash is stored.
A revoked key stops working within a minute.`;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 32 characters of 62 are 190 bits: nobody finds a key by its hash. */
const SECRET_LENGTH = 32;
const ID_LENGTH = 10;
const ENVIRONMENT_NAME = /^[a-z][a-z0-9-]{0,39}$/;

export interface KeysTool {
  /** The keys of an environment; the table is named where the person named it. */
  readonly openStore: (environment: string, table: string | undefined) => Promise<AccessStore>;
  readonly clock: Clock;
  /** What a script may read. */
  readonly print: (line: string) => void;
  /** What only a person needs. */
  readonly explain: (line: string) => void;
}

const randomText = (length: number): string =>
  Array.from({ length }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');

function readArguments(argv: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        environment: { type: 'string' },
        table: { type: 'string' },
        tenant: { type: 'string' },
        name: { type: 'string' },
        scopes: { type: 'string', default: 'jobs' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    return { values, positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The arguments are not readable');
  }
}

function readScopes(list: string): Scope[] {
  return list.split(',').map((name) => {
    const scope = SCOPES.find((known) => known === name.trim());
    if (scope === undefined) throw new UsageError(`There is no scope ${JSON.stringify(name)}: ${SCOPES.join(', ')}`);
    return scope;
  });
}

/** @throws UsageError where the arguments are wrong or the key is not there. */
export async function manageKeys(argv: readonly string[], tool: KeysTool): Promise<void> {
  const { values, positionals } = readArguments(argv);
  if (values.help) throw new HelpWanted();
  const { environment, table, tenant, name } = values;
  const [verb, keyId] = positionals;
  if (environment === undefined || !ENVIRONMENT_NAME.test(environment)) {
    throw new UsageError('--environment is missing or not a name');
  }
  switch (verb) {
    case 'create': {
      if (tenant === undefined || !isUserName(tenant)) throw new UsageError('--tenant is missing or not a name');
      if (name === undefined || name.trim() === '') throw new UsageError('--name is missing: say whose key it is');
      const wanted = { tenant, name: name.trim(), scopes: readScopes(values.scopes) };
      return createKey(environment, await tool.openStore(environment, table), wanted, tool);
    }
    case 'list':
      return listKeys(await tool.openStore(environment, table), tool);
    case 'revoke':
      if (keyId === undefined) throw new UsageError('Which key? `list` shows their ids');
      return revokeKey(await tool.openStore(environment, table), keyId, tool);
    default:
      throw new UsageError('Say create, list or revoke');
  }
}

async function createKey(
  environment: string,
  store: AccessStore,
  wanted: Pick<ApiKey, 'tenant' | 'name' | 'scopes'>,
  { clock, print, explain }: KeysTool,
): Promise<void> {
  const secret = `sl_${environment}_${randomText(SECRET_LENGTH)}`;
  const key: ApiKey = { id: `key_${randomText(ID_LENGTH)}`, ...wanted, createdAtMs: clock.now() };
  const { kind } = await store.createKey(secretSha256(secret), key);
  if (kind === 'already_exists') throw new Error('A random key met an existing one: the random source is broken');
  print(secret);
  explain(`${key.id} for tenant ${key.tenant}, scopes ${key.scopes.join(', ')}. It is not shown again.`);
}

async function listKeys(store: AccessStore, { print, explain }: KeysTool): Promise<void> {
  const keys = await store.listKeys();
  const day = (ms: number | undefined): string => (ms === undefined ? 'never' : new Date(ms).toISOString());
  for (const key of keys) {
    const state = key.revokedAtMs === undefined ? 'active' : `revoked ${day(key.revokedAtMs)}`;
    const used = `created ${day(key.createdAtMs)}, used ${day(key.lastUsedAtMs)}`;
    print([key.id, key.tenant, key.scopes.join(','), state, used, key.name].join('\t'));
  }
  if (keys.length === 0) explain('There are no keys.');
}

async function revokeKey(store: AccessStore, keyId: string, { clock, explain }: KeysTool): Promise<void> {
  const revocation = await store.revokeKey(keyId, clock.now());
  switch (revocation.kind) {
    case 'revoked':
      return explain(`${keyId} (${revocation.key.name}) is revoked, and stops working within a minute.`);
    case 'already_revoked':
      return explain(`${keyId} (${revocation.key.name}) was revoked before.`);
    case 'not_found':
      throw new UsageError(`There is no key ${keyId}`);
  }
}

if (import.meta.main) {
  process.exitCode = await runWithAws(USAGE, (client) =>
    manageKeys(process.argv.slice(2), {
      openStore: async (environment, table) =>
        new DynamoAccessStore(client, table ?? (await findTable(client, environment))),
      clock: systemClock,
      print: (line) => console.log(line),
      explain: (line) => console.error(line),
    }),
  );
}
