import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';

export interface StudioOptions {
  readonly dataFolder: string;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

/** What the studio and the gateway both know: the secret of every vendor that the studio plays. */
export interface StudioSecret {
  readonly apiKey: string;
  readonly webhookSecret: string;
}

export interface RunningStudio {
  readonly url: string;
  readonly secret: StudioSecret;
  /** True where it ran before: somebody else may be at work with it. */
  readonly found: boolean;
  /** Ends the studio, whether this process started it or an earlier one did. */
  stop(): Promise<void>;
}

const secretSchema = z.object({ apiKey: z.string(), webhookSecret: z.string() });
const processSchema = z.object({ pid: z.number().int(), url: z.url() });

const startLimitMs = 30_000;
const stopLimitMs = 5_000;
/** Between the last answer and the end: the studio closes its files. */
const closeLimitMs = 500;

/**
 * The studio as a process of its own, detached: a vendor outlives its customer's crash. A studio that an earlier run of this
 * data folder left behind, or that already answers on the wanted port, is used again.
 */
export async function ensureStudio(options: StudioOptions): Promise<RunningStudio> {
  const folder = path.join(options.dataFolder, 'studio');
  await mkdir(folder, { recursive: true });
  const secret = await ensureSecret(folder);
  const processFile = path.join(folder, 'process.json');
  const left = await readJson(processFile, processSchema);
  if (left !== undefined && (await isHealthy(left.url))) {
    return { ...running(left.url, secret, processFile, left.pid), found: true };
  }
  const wanted = `http://127.0.0.1:${options.port}`;
  if (options.port !== 0 && (await isHealthy(wanted))) {
    return { ...running(wanted, secret, processFile, undefined), found: true };
  }
  const started = await startStudio(options, folder, secret);
  await writeFile(processFile, JSON.stringify(started));
  return { ...running(started.url, secret, processFile, started.pid), found: false };
}

function running(
  url: string,
  secret: StudioSecret,
  processFile: string,
  pid: number | undefined,
): Omit<RunningStudio, 'found'> {
  return {
    url,
    secret,
    stop: async () => {
      if (pid === undefined) return;
      signal(pid, 'SIGTERM');
      await untilGone(() => isHealthy(url), stopLimitMs);
      // A container whose first process reaps no orphans keeps the dead one's id, so the id alone can't be waited for.
      await untilGone(() => Promise.resolve(signal(pid, 0)), closeLimitMs);
      signal(pid, 'SIGKILL');
      await rm(processFile, { force: true });
    },
  };
}

async function startStudio(options: StudioOptions, folder: string, secret: StudioSecret) {
  // The child writes to a file, not to us: a pipe would break with the gateway and take the studio along.
  const logFile = path.join(folder, 'studio.log');
  const log = await open(logFile, 'a');
  const { size } = await log.stat();
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'studio/main.ts')], {
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    env: {
      ...process.env,
      HOST: options.host,
      PORT: String(options.port),
      DATA_DIR: folder,
      STUDIO_API_KEY: secret.apiKey,
      WEBHOOK_SECRET: secret.webhookSecret,
    },
  });
  // In one await: the event may come while the file is being closed.
  await Promise.all([once(child, 'spawn'), log.close()]);
  const { pid } = child;
  if (pid === undefined) throw new Error('The studio has no process id.');
  child.unref();
  const giveUpAtMs = Date.now() + startLimitMs;
  while (Date.now() < giveUpAtMs) {
    const said = (await readFile(logFile)).subarray(size).toString();
    const url = /^studio ready (\S+)$/m.exec(said)?.[1];
    if (url !== undefined) return { pid, url };
    if (child.exitCode !== null) throw new Error(whyItEnded(said, options));
    await pause(20);
  }
  throw new Error(`The studio did not start within ${startLimitMs / 1000} s: see ${logFile}`);
}

function whyItEnded(said: string, { port, dataFolder }: StudioOptions): string {
  if (said.includes('EADDRINUSE')) return `Port ${port} is taken: set STUDIO_PORT to another one.`;
  if (said.includes('database is locked')) {
    return `Another studio has ${path.join(dataFolder, 'studio')} open: is Slowlane already running?`;
  }
  return `The studio ended as it started:\n${said}`;
}

async function untilGone(isThere: () => Promise<boolean>, limitMs: number): Promise<void> {
  const giveUpAtMs = Date.now() + limitMs;
  while (Date.now() < giveUpAtMs && (await isThere())) await pause(20);
}

/** Not by `fetch`: that refuses the ports of old protocols, and 4190 is one of them. */
async function isHealthy(url: string): Promise<boolean> {
  const request = http.get(`${url}/control/health`, { agent: false, signal: AbortSignal.timeout(2_000) });
  // `once` below throws the same error, and none may be thrown after it.
  request.on('error', () => undefined);
  try {
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
    answer.on('error', () => undefined).resume();
    return answer.statusCode === 200;
  } catch {
    // Nothing listens there: that is the answer.
    return false;
  }
}

/** @returns whether the process was there to be told. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

async function ensureSecret(folder: string): Promise<StudioSecret> {
  const file = path.join(folder, 'secret.json');
  const known = await readJson(file, secretSchema);
  if (known !== undefined) return known;
  const secret = { apiKey: 'studio-local-key', webhookSecret: `whsec_${randomBytes(24).toString('base64')}` };
  await writeFile(file, JSON.stringify(secret), { mode: 0o600 });
  return secret;
}

async function readJson<Schema extends z.ZodType>(file: string, schema: Schema): Promise<z.infer<Schema> | undefined> {
  try {
    const parsed = schema.safeParse(JSON.parse(await readFile(file, 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
