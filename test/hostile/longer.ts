import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';

/**
 * The hostile suites for as long as somebody has time: `node test/hostile/longer.ts [inputs]`, from another seed each time.
 * A failure names the `HOSTILE_SEED` from which the ordinary suites show it again.
 */
const [inputs = '200000'] = process.argv.slice(2);
const seed = process.env['HOSTILE_SEED'] ?? String(randomInt(2 ** 31));
console.log(`${inputs} hostile inputs from seed ${seed}`);

const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/hostile'], {
  cwd: fileURLToPath(new URL('../..', import.meta.url)),
  env: { ...process.env, HOSTILE_RUNS: inputs, HOSTILE_SEED: seed },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
