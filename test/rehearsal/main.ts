import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as z from 'zod';
import { ensureStudio, type RunningStudio } from '../../local/studio-process.ts';
import { runSuite } from '../deployed/run-suite.ts';
import { runToEnd } from '../python/run-to-end.ts';
import { callAws, type Account } from './aws.ts';
import { checkLedger, checkLogs, checkQueues, logsAfterTick } from './checks.ts';
import { awsVariables, Deployer, type Deployment } from './deploy.ts';
import { differences } from './differences.ts';
import { startEmulator } from './emulator.ts';
import { readResults } from './suite-results.ts';
import { judge, type Proof } from './verdict.ts';

/**
 * `npm run rehearse`: a real `cdk bootstrap` and `cdk deploy` of the dev environment into an AWS emulator, and the
 * black-box suite against what was deployed. MiniStack is started here, unless AWS_ENDPOINT_URL names another emulator.
 */

const emulatorAccountId = '000000000000';

const root = path.resolve(import.meta.dirname, '../..');
const startedAt = performance.now();

function say(text: string): void {
  console.log(`[${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)} s] ${text}`);
}

/** @returns what is wrong, a line each */
async function rehearse(folder: string, cleanUp: (() => Promise<void>)[]): Promise<string[]> {
  const account = await findAccount(folder, cleanUp);
  const studio = await ensureStudio({ dataFolder: folder, host: '127.0.0.1', port: 0 });
  cleanUp.push(() => studio.stop());
  say(`emulator ${account.endpoint}, studio ${studio.url}`);

  const deployer = new Deployer(account, folder);
  await deployer.synthesize(studio.url);
  say('synthesized the dev environment');
  await deployer.bootstrap(emulatorAccountId);
  say('bootstrapped');
  const deployment = await deployer.deploy();
  say(`deployed: ${deployment.url}`);
  await giveVendorSecret(account, deployment, studio);

  const report = path.join(folder, 'suite.json');
  const suiteEnded = await runSuite(
    {
      SLOWLANE_URL: deployment.url,
      SLOWLANE_SOCKET_URL: deployment.socketUrl,
      SLOWLANE_KEY: await createKey(account, 'jobs,tokens,act-for-user'),
      SLOWLANE_OPERATOR_KEY: await createKey(account, 'operator'),
    },
    ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
  );
  say('the suite has run; waiting for a tick of the reconciler');
  const logs = await logsAfterTick(account);
  const results = await readResults(report);
  const proofs = new Map<string, Proof>();
  for (const { id, probe } of differences) proofs.set(id, await probe({ account, deployment, logs }));
  const crashed = suiteEnded !== 0 && results.every(({ status }) => status !== 'failed');
  return [
    ...judge({ results, differences, proofs }),
    ...(crashed ? [`The suite ended with ${suiteEnded}, though no test failed.`] : []),
    ...checkLogs(logs),
    ...(await checkQueues(account)),
    ...(await checkLedger(studio.url)),
  ];
}

async function findAccount(folder: string, cleanUp: (() => Promise<void>)[]): Promise<Account> {
  const variables = z
    .object({
      AWS_ENDPOINT_URL: z.url().optional(),
      AWS_REGION: z.string().default('us-east-1'),
      AWS_ACCESS_KEY_ID: z.string().default('test'),
      AWS_SECRET_ACCESS_KEY: z.string().default('test'),
    })
    .parse(process.env);
  const { AWS_REGION: region, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = variables;
  if (variables.AWS_ENDPOINT_URL !== undefined) {
    const endpoint = variables.AWS_ENDPOINT_URL.replace(/\/+$/, '');
    return { endpoint, region, accessKeyId, secretAccessKey };
  }
  const emulator = await startEmulator(folder);
  cleanUp.push(() => emulator.stop());
  // Everything that is started from here on trusts it: the CDK, the suite, the studio that sends webhooks.
  process.env['NODE_EXTRA_CA_CERTS'] = emulator.certificateFile;
  process.env['AWS_CA_BUNDLE'] = emulator.certificateFile;
  // Its root user, whatever credentials this shell holds.
  return { endpoint: emulator.url, region: 'us-east-1', accessKeyId: 'test', secretAccessKey: 'test' };
}

/** As an operator would, after the first deployment. */
async function giveVendorSecret(account: Account, { vendorSecretArn }: Deployment, studio: RunningStudio) {
  const input = { SecretId: vendorSecretArn, SecretString: JSON.stringify(studio.secret) };
  await callAws(account, 'secretsmanager', 'PutSecretValue', input, z.object({ ARN: z.string() }));
}

async function createKey(account: Account, scopes: string): Promise<string> {
  const options = ['--environment', 'dev', '--tenant', 'rehearsal', '--name', 'suite', '--scopes', scopes];
  const { code, output } = await runToEnd(
    process.execPath,
    [path.join(root, 'operator/keys.ts'), 'create', ...options],
    { cwd: root, env: awsVariables(account) },
  );
  const key = /^sl_dev_\w+$/m.exec(output)?.[0];
  if (code !== 0 || key === undefined) throw new Error(`No key was made:\n${output}`);
  return key;
}

async function main(): Promise<boolean> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'slowlane-rehearsal-'));
  const cleanUp: (() => Promise<void>)[] = [];
  const endAll = async () => {
    for (const end of cleanUp.splice(0).toReversed()) await end();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void endAll().then(() => process.exit(1)));
  let wrong: string[];
  try {
    wrong = await rehearse(folder, cleanUp);
  } catch (error) {
    wrong = [error instanceof Error ? error.message : String(error)];
  } finally {
    await endAll();
  }
  for (const { id, reason } of differences) say(`known difference ${id}: ${reason}`);
  for (const line of wrong) console.error(`WRONG  ${line}`);
  if (wrong.length > 0) say(`failed; what it left is in ${folder}`);
  else {
    say(`as on AWS, but for ${differences.length} known differences of the emulator`);
    await rm(folder, { recursive: true, force: true });
  }
  return wrong.length === 0;
}

process.exitCode = (await main()) ? 0 : 1;
