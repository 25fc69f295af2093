import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { localKeys } from '../../local/seed-keys.ts';
import { startLocal } from '../../local/start-local.ts';
import { runSuite, type TargetVariables } from './run-suite.ts';

const usage = `Holds a running Slowlane to its contract, over HTTP and sockets only. It makes about 20 small pictures, which a real vendor
bills, and closes the lane for some seconds.

  npm run test:deployed -- --url https://… --key sl_dev_… --operator-key sl_dev_…
  npm run test:deployed -- --local

  --url            of the HTTP API: output ApiUrl of the stack
  --key            of a server, with the scopes jobs, tokens and act-for-user (npm run keys -- create …)
  --operator-key   of a person, with the scope operator
  --socket-url     where tickets must lead: output SocketUrl; not checked without it
  --origin         one of the environment's corsOrigins, where it is not *
  --local          start a local environment and hold that to it

What follows a second -- goes to vitest: file names, -t and the name of a test.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: 'string' },
    key: { type: 'string' },
    'operator-key': { type: 'string' },
    'socket-url': { type: 'string' },
    origin: { type: 'string' },
    local: { type: 'boolean', default: false },
  },
});

function namedTarget(): TargetVariables | undefined {
  const { url, key, 'operator-key': operatorKey, 'socket-url': socketUrl, origin } = values;
  if (url === undefined || key === undefined || operatorKey === undefined) return undefined;
  return {
    SLOWLANE_URL: url,
    SLOWLANE_KEY: key,
    SLOWLANE_OPERATOR_KEY: operatorKey,
    ...(socketUrl === undefined ? {} : { SLOWLANE_SOCKET_URL: socketUrl }),
    ...(origin === undefined ? {} : { SLOWLANE_ORIGIN: origin }),
  };
}

async function runLocally(): Promise<number> {
  const dataDir = await mkdtemp(path.join(os.tmpdir(), 'slowlane-suite-'));
  const local = await startLocal({ dataDir, quiet: true });
  try {
    const key = localKeys.find(({ scopes }) => scopes.includes('operator'))?.key;
    if (key === undefined || local.socketUrl === undefined) throw new Error('The local environment is incomplete.');
    const variables = { SLOWLANE_URL: local.url, SLOWLANE_SOCKET_URL: local.socketUrl };
    return await runSuite({ ...variables, SLOWLANE_KEY: key, SLOWLANE_OPERATOR_KEY: key }, positionals);
  } finally {
    await local.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

const target = namedTarget();
if (values.local) process.exitCode = await runLocally();
else if (target !== undefined) process.exitCode = await runSuite(target, positionals);
else {
  console.error(usage);
  process.exitCode = 2;
}
