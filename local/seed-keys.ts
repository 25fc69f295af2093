import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { secretSha256, type Scope } from '../lambdas/domain/access.ts';
import { DynamoAccessStore } from '../lambdas/store/dynamo-access-store.ts';
import type { LocalFunctionSpec } from './runtime/functions.ts';
import { runtimeCaller } from './runtime/permissions.ts';

export interface LocalKey {
  readonly key: string;
  readonly scopes: readonly Scope[];
}

export const localDemoKey = 'local-demo-key';

/** Keys that every local environment has; they open nothing anywhere else. */
export const localKeys: readonly LocalKey[] = [
  { key: localDemoKey, scopes: ['jobs', 'act-for-user'] },
  { key: 'local-operator-key', scopes: ['jobs', 'operator', 'tokens', 'act-for-user'] },
];

/** Stores the local keys in the one table, where an earlier run has not. */
export async function seedKeys(specs: readonly LocalFunctionSpec[], dynamoUrl: string, region: string): Promise<void> {
  const table = specs.map(({ variables }) => variables['TABLE_NAME']).find((name) => name !== undefined);
  if (table === undefined) throw new Error('No function of the template has a TABLE_NAME.');
  const credentials = { accessKeyId: runtimeCaller, secretAccessKey: 'local' };
  const client = new DynamoDBClient({ endpoint: dynamoUrl, region, credentials });
  const store = new DynamoAccessStore(client, table);
  try {
    for (const { key, scopes } of localKeys) {
      await store.createKey(secretSha256(key), {
        id: `key_${key}`,
        tenant: 'local',
        name: key,
        scopes,
        createdAtMs: Date.now(),
      });
    }
  } finally {
    client.destroy();
  }
}
