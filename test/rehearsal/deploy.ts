import { readFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { runToEnd } from '../python/run-to-end.ts';
import type { Account } from './aws.ts';
import { vendorName } from './vendor.ts';

const root = path.resolve(import.meta.dirname, '../..');
const cdk = path.join(root, 'node_modules/aws-cdk/bin/cdk');

const outputsSchema = z.object({
  'Slowlane-dev': z.object({
    ApiUrl: z.url(),
    SocketUrl: z.url(),
    TableName: z.string(),
  }),
  'Slowlane-dev-data': z.record(z.string(), z.string()),
});

export interface Deployment {
  /** The address of the HTTP API in the emulator. */
  readonly url: string;
  readonly socketUrl: string;
  readonly tableName: string;
  readonly vendorSecretArn: string;
  /** What the stacks say of themselves. */
  readonly outputs: z.infer<typeof outputsSchema>;
}

/** Of one command: the emulator deploys in seconds, and one that hangs must not hang us. */
const stepLimitMs = 120_000;

/** MiniStack's and LocalStack's path form of `https://<api>.execute-api.<region>.amazonaws.com`. */
export const gatewayPath = '/_aws/execute-api';

/** The environment of every command that talks to the emulator. */
export function awsVariables(account: Account): NodeJS.ProcessEnv {
  return {
    ...process.env,
    AWS_ENDPOINT_URL: account.endpoint,
    AWS_REGION: account.region,
    AWS_DEFAULT_REGION: account.region,
    AWS_ACCESS_KEY_ID: account.accessKeyId,
    AWS_SECRET_ACCESS_KEY: account.secretAccessKey,
    CI: 'true',
    CDK_DISABLE_CLI_TELEMETRY: 'true',
  };
}

/** `cdk synth`, `cdk bootstrap` and `cdk deploy`, as a person runs them. @throws Error with all that a failing one said */
export class Deployer {
  readonly #account: Account;
  readonly #assembly: string;
  readonly #folder: string;

  constructor(account: Account, folder: string) {
    this.#account = account;
    this.#folder = folder;
    this.#assembly = path.join(folder, 'cdk.out');
  }

  async synthesize(studioUrl: string): Promise<void> {
    await this.#run(process.execPath, [path.join(import.meta.dirname, 'app.ts')], {
      CDK_OUTDIR: this.#assembly,
      STUDIO_URL: studioUrl,
    });
  }

  /** With the assembly as the app: without it, the CLI would synthesize the project's own and write over cdk.out. */
  async bootstrap(accountId: string): Promise<void> {
    await this.#cdk(['bootstrap', `aws://${accountId}/${this.#account.region}`]);
  }

  async deploy(): Promise<Deployment> {
    const file = path.join(this.#folder, 'outputs.json');
    await this.#cdk(['deploy', '--all', '--require-approval', 'never', '--progress', 'events', '--outputs-file', file]);
    const outputs = outputsSchema.parse(JSON.parse(await readFile(file, 'utf8')));
    const gateway = outputs['Slowlane-dev'];
    const { endpoint } = this.#account;
    const secretPart = `VendorSecret${vendorName}`;
    const [, vendorSecretArn] =
      Object.entries(outputs['Slowlane-dev-data']).find(([name]) => name.includes(secretPart)) ?? [];
    if (vendorSecretArn === undefined) throw new Error(`No output names the secret of vendor ${vendorName}.`);
    return {
      url: `${endpoint}${gatewayPath}/${apiIdOf(gateway.ApiUrl)}`,
      socketUrl: `${endpoint.replace(/^http/, 'ws')}${gatewayPath}/${apiIdOf(gateway.SocketUrl)}/v1`,
      tableName: gateway.TableName,
      vendorSecretArn,
      outputs,
    };
  }

  async #cdk(args: readonly string[]): Promise<void> {
    await this.#run(process.execPath, [cdk, ...args, '--app', this.#assembly]);
  }

  async #run(command: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<void> {
    const env = { ...awsVariables(this.#account), ...variables };
    const { code, output } = await runToEnd(command, args, { cwd: root, env, timeoutMs: stepLimitMs });
    if (code !== 0) throw new Error(`${path.basename(args[0] ?? command)} ${args[1] ?? ''} failed:\n${output}`);
  }
}

function apiIdOf(url: string): string {
  return new URL(url).hostname.split('.', 1)[0] ?? '';
}
