import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import path from 'node:path';

/** How the suite is told where to look: see target.ts. */
export interface TargetVariables {
  readonly SLOWLANE_URL: string;
  readonly SLOWLANE_KEY: string;
  readonly SLOWLANE_OPERATOR_KEY: string;
  readonly SLOWLANE_SOCKET_URL?: string;
  readonly SLOWLANE_ORIGIN?: string;
}

const root = path.resolve(import.meta.dirname, '../..');
const vitest = path.join(path.dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

/**
 * Runs the black-box suite in a process of its own, its report on our own output.
 * @param options for vitest: names of files, `-t` and a test's name, reporters
 * @returns its exit code
 */
export async function runSuite(variables: TargetVariables, options: readonly string[] = []): Promise<number> {
  const args = [vitest, 'run', '--config', 'vitest.deployed.config.ts', ...options];
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  await once(child, 'close');
  return child.exitCode ?? 1;
}
