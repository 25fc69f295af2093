import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb';
import { secretSha256, SERVER_USER, type AccessStore, type Scope } from '../../../lambdas/domain/access.ts';
import { signingSecret, vendorSecret } from '../../../lambdas/runtime/secrets.ts';
import { DynamoAccessStore } from '../../../lambdas/store/dynamo-access-store.ts';
import { callbackUrl } from '../../../lambdas/vendors/callback.ts';
import { runtimeCaller } from '../../../local/runtime/permissions.ts';
import { localDemoKey } from '../../../local/seed-keys.ts';
import { startLocal, type LocalEnvironment } from '../../../local/start-local.ts';
import { Api } from './api.ts';
import { deployAs, type Settings } from './deploy-as.ts';
import { listFiles } from './files.ts';
import { eventually } from './eventually.ts';
import { Follower } from './follower.ts';
import { impatientBundles } from './impatient-bundles.ts';
import { Runtime } from './runtime.ts';
import { Studio } from './studio.ts';

export interface SlowlaneOptions extends Settings {
  /** Seconds between ticks; far apart where a test wants to tick by hand. */
  readonly reconcileEverySeconds?: number;
  /** With the protocol's leases and deadlines shortened: see impatient-timing.ts. */
  readonly impatient?: boolean;
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
  /** Where the event bus itself takes events. */
  readonly eventBusUrl: string;
  /** A socket that follows jobs of `api`, or of another caller. */
  follow(jobIds: readonly string[], as?: Api): Promise<Follower>;
  /** A socket by its URL, ticket included. */
  connect(url: string): Promise<Follower>;
  /** Gives the vendors another secret, as a person would in Secrets Manager. */
  putVendorSecrets(apiKey: string): Promise<void>;
  /** As `npm run keys` does. */
  createKey(key: string, tenant: string, scopes: readonly Scope[]): Promise<Api>;
  revokeKey(key: string): Promise<void>;
  /** Where the vendor calls back about a job's first generation. */
  callbackUrl(jobId: string): Promise<string>;
  webhookSecret(): Promise<string>;
  /** A socket's ticket for a server of the tenant `local`, as if it had been issued a while ago. */
  putTicket(ticket: string, expiresAtMs: number): Promise<void>;
  /** Every item of the table that mentions this text, as it is stored. */
  tracesOf(text: string): Promise<readonly string[]>;
  /** The names of everything in the bucket that bear this text. */
  filesOf(text: string): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export async function startSlowlane({
  reconcileEverySeconds = 2,
  impatient = false,
  ...settings
}: SlowlaneOptions = {}): Promise<Slowlane> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'slowlane-e2e-'));
  const bundle = impatient ? await impatientBundles(path.join(dataDir, 'impatient')) : undefined;
  const withSettings = deployAs(settings);
  const local = await startLocal({
    dataDir,
    quiet: true,
    reconcileEverySeconds,
    deployAs: (spec) => withSettings(bundle === undefined ? spec : bundle(spec)),
  });
  if (local.studioUrl === undefined) throw new Error('The local environment has no studio.');
  const api = new Api(local.url, { 'X-API-Key': localDemoKey });
  const studio = new Studio(local.studioUrl, dataDir);
  const operator = new Api(local.url, { 'X-API-Key': 'local-operator-key' });
  // A machine that starts several environments at once may be too slow for its first calls, as any client would find.
  await eventually('the environment answers', () => operator.lane().catch(() => undefined), { everyMs: 500 });
  return {
    url: local.url,
    api,
    operator,
    studio,
    runtime: new Runtime(local.url),
    eventBusUrl: local.endpoints.eventBridge,
    follow: async (jobIds, as = api) => {
      const follower = await Follower.open(await as.socketUrl());
      follower.follow(...jobIds);
      return follower;
    },
    connect: (url) => Follower.open(url),
    putVendorSecrets: (apiKey) => putVendorSecrets(local, apiKey),
    createKey: async (key, tenant, scopes) => {
      const wanted = { id: `key_${key}`, tenant, name: key, scopes, createdAtMs: Date.now() };
      await withAccess(local, (access) => access.createKey(secretSha256(key), wanted));
      return new Api(local.url, { 'X-API-Key': key });
    },
    revokeKey: async (key) => {
      await withAccess(local, (access) => access.revokeKey(`key_${key}`, Date.now()));
    },
    callbackUrl: async (jobId) => {
      const signing = await readSecret(local, variable(local, 'SIGNING_SECRET_ARN'));
      const claims = { vendor: 'studio-blind', jobId, generation: 1 };
      return callbackUrl(local.url, claims, signingSecret.parse(signing));
    },
    webhookSecret: async () => {
      const secret = vendorSecret.parse(await readSecret(local, vendorsOf(local)['studio-blind']?.secretArn ?? ''));
      return secret.webhookSecret ?? '';
    },
    putTicket: async (ticket, expiresAtMs) => {
      const principal = { tenant: 'local', user: SERVER_USER, kind: 'key', scopes: ['jobs'] } as const;
      await withAccess(local, (access) => access.putTicket(secretSha256(ticket), { principal, expiresAtMs }));
    },
    tracesOf: (text) => tracesOf(local, text),
    filesOf: async (text) => {
      const names = await listFiles(local.endpoints.s3, variable(local, 'BUCKET_NAME'), dataDir);
      return names.filter((name) => name.includes(text));
    },
    stop: async () => {
      await local.stop();
      await studio.end();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function withAccess(local: LocalEnvironment, work: (access: AccessStore) => Promise<unknown>): Promise<void> {
  await withTable(local, (client, table) => work(new DynamoAccessStore(client, table)));
}

async function withTable<T>(
  local: LocalEnvironment,
  work: (client: DynamoDBClient, table: string) => Promise<T>,
): Promise<T> {
  const client = new DynamoDBClient({
    endpoint: local.endpoints.dynamodb,
    region: 'us-east-1',
    credentials: { accessKeyId: runtimeCaller, secretAccessKey: 'local' },
  });
  try {
    return await work(client, variable(local, 'TABLE_NAME'));
  } finally {
    client.destroy();
  }
}

async function tracesOf(local: LocalEnvironment, text: string): Promise<string[]> {
  return await withTable(local, async (client, table) => {
    const found: string[] = [];
    for await (const { Items = [] } of paginateScan({ client }, { TableName: table })) {
      found.push(...Items.map((item) => JSON.stringify(item)).filter((item) => item.includes(text)));
    }
    return found;
  });
}

const vendorsOf = (local: LocalEnvironment) =>
  JSON.parse(variable(local, 'VENDORS')) as Record<string, { secretArn: string }>;

async function readSecret(local: LocalEnvironment, arn: string): Promise<object> {
  const { SecretString } = await callSecrets(local, 'GetSecretValue', { SecretId: arn });
  return JSON.parse(SecretString ?? '{}') as object;
}

async function putVendorSecrets(local: LocalEnvironment, apiKey: string): Promise<void> {
  for (const { secretArn } of Object.values(vendorsOf(local))) {
    const secret = { ...(await readSecret(local, secretArn)), apiKey };
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
