import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { secretSha256, type AccessStore, type Scope } from '../../../lambdas/domain/access.ts';
import { DynamoAccessStore } from '../../../lambdas/store/dynamo-access-store.ts';
import { runtimeCaller } from '../../../local/runtime/permissions.ts';
import { localDemoKey } from '../../../local/seed-keys.ts';
import { startLocal, type LocalEnvironment } from '../../../local/start-local.ts';
import { Api } from './api.ts';
import { deployAs, type Settings } from './deploy-as.ts';
import { Follower } from './follower.ts';
import { Runtime } from './runtime.ts';
import { Studio } from './studio.ts';

export interface SlowlaneOptions extends Settings {
  /** Seconds between ticks; far apart where a test wants to tick by hand. */
  readonly reconcileEverySeconds?: number;
}

/** A whole environment of one test file's own, reached over HTTP and sockets. */
export interface Slowlane {
  readonly url: string;
  /** A server of the tenant `local`, for its own user. */
  readonly api: Api;
  /** The same tenant's key with every scope. */
  readonly operator: Api;
  readonly studio: Studio;
  readonly runtime: Runtime;
  /** A socket that follows jobs of `api`, or of another caller. */
  follow(jobIds: readonly string[], as?: Api): Promise<Follower>;
  /** Gives the vendors another secret, as a person would in Secrets Manager. */
  putVendorSecrets(apiKey: string): Promise<void>;
  /** As `npm run keys` does. */
  createKey(key: string, tenant: string, scopes: readonly Scope[]): Promise<Api>;
  revokeKey(key: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startSlowlane({
  reconcileEverySeconds = 2,
  ...settings
}: SlowlaneOptions = {}): Promise<Slowlane> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'slowlane-e2e-'));
  const local = await startLocal({ dataDir, quiet: true, reconcileEverySeconds, deployAs: deployAs(settings) });
  if (local.studioUrl === undefined) throw new Error('The local environment has no studio.');
  const api = new Api(local.url, { 'X-API-Key': localDemoKey });
  return {
    url: local.url,
    api,
    operator: new Api(local.url, { 'X-API-Key': 'local-operator-key' }),
    studio: new Studio(local.studioUrl, dataDir),
    runtime: new Runtime(local.url),
    follow: async (jobIds, as = api) => {
      const follower = await Follower.open(await as.socketUrl());
      follower.follow(...jobIds);
      return follower;
    },
    putVendorSecrets: (apiKey) => putVendorSecrets(local, apiKey),
    createKey: async (key, tenant, scopes) => {
      const wanted = { id: `key_${key}`, tenant, name: key, scopes, createdAtMs: Date.now() };
      await withAccess(local, (access) => access.createKey(secretSha256(key), wanted));
      return new Api(local.url, { 'X-API-Key': key });
    },
    revokeKey: async (key) => {
      await withAccess(local, (access) => access.revokeKey(`key_${key}`, Date.now()));
    },
    stop: async () => {
      await local.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function withAccess(local: LocalEnvironment, work: (access: AccessStore) => Promise<unknown>): Promise<void> {
  const client = new DynamoDBClient({
    endpoint: local.endpoints.dynamodb,
    region: 'us-east-1',
    credentials: { accessKeyId: runtimeCaller, secretAccessKey: 'local' },
  });
  try {
    await work(new DynamoAccessStore(client, variable(local, 'TABLE_NAME')));
  } finally {
    client.destroy();
  }
}

async function putVendorSecrets(local: LocalEnvironment, apiKey: string): Promise<void> {
  const vendors = JSON.parse(variable(local, 'VENDORS')) as Record<string, { secretArn: string }>;
  for (const { secretArn } of Object.values(vendors)) {
    const { SecretString } = await callSecrets(local, 'GetSecretValue', { SecretId: secretArn });
    const secret = { ...(JSON.parse(SecretString ?? '{}') as object), apiKey };
    await callSecrets(local, 'PutSecretValue', { SecretId: secretArn, SecretString: JSON.stringify(secret) });
  }
}

async function callSecrets(
  local: LocalEnvironment,
  operation: string,
  body: object,
): Promise<{ SecretString?: string }> {
  const answer = await fetch(local.endpoints.secretsManager, {
    method: 'POST',
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=${runtimeCaller}/20260101/us-east-1/secretsmanager/aws4_request`,
      'x-amz-target': `secretsmanager.${operation}`,
    },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`Secrets Manager answers ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as { SecretString?: string };
}

function variable(local: LocalEnvironment, name: string): string {
  const found = local.functions.all().find(({ spec }) => name in spec.variables)?.spec.variables[name];
  if (found === undefined) throw new Error(`No function has ${name}.`);
  return found;
}
