import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { localKeys } from '../../local/seed-keys.ts';
import { startLocal } from '../../local/start-local.ts';
import { fuzz, type Fuzzing } from './api/fuzz.ts';
import { makeKnownJobs } from './api/known-jobs.ts';

/**
 * `npm run test:hostile -- [--seed 7] [--examples 500] [operationId…]`: requests made from docs/openapi.json, right and
 * wrong ones, against the local runtime; then once more with ids of jobs that are there. Every answer must be one that the
 * document promises, and none a server error.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    examples: { type: 'string', default: '40' },
  },
});

async function main(): Promise<number> {
  const dataDir = await mkdtemp(path.join(os.tmpdir(), 'slowlane-hostile-'));
  const local = await startLocal({ dataDir, quiet: true });
  try {
    const key = localKeys.find(({ scopes }) => scopes.includes('operator'))?.key;
    if (key === undefined || local.studioUrl === undefined) throw new Error('The local environment is incomplete.');
    const fuzzing: Fuzzing = {
      url: local.url,
      key,
      seed: Number(values.seed),
      examples: Number(values.examples),
      operations: positionals,
    };
    const knownJobs = await makeKnownJobs(local.url, local.studioUrl, key);
    const working = Object.keys(knownJobs.idByOperation).concat('readJobByKey');
    const wanted = positionals.length === 0 ? working : working.filter((id) => positionals.includes(id));
    const codes = [
      wanted.length === 0 ? 0 : await fuzz({ ...fuzzing, operations: wanted, knownJobs }),
      await fuzz(fuzzing),
    ];
    return Math.max(...codes);
  } finally {
    await local.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

process.exitCode = await main();
