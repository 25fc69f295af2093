import { spawn } from 'node:child_process';

export interface Ended {
  /** `null` where a signal ended it. */
  readonly code: number | null;
  /** What it wrote, to both streams, in the order in which it came. */
  readonly output: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly timeoutMs?: number;
  /** Sees the output as it comes. */
  readonly onOutput?: (chunk: Buffer) => void;
}

/** Runs a command without a shell. Any exit code is a result. @throws Error where it could not be started */
export function runToEnd(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { cwd, env = process.env, timeoutMs, onOutput } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(cwd === undefined ? {} : { cwd }),
      ...(timeoutMs === undefined ? {} : { timeout: timeoutMs, killSignal: 'SIGKILL' }),
    });
    const chunks: Buffer[] = [];
    const keep = (chunk: Buffer) => {
      chunks.push(chunk);
      onOutput?.(chunk);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output: Buffer.concat(chunks).toString('utf8') }));
  });
}
