import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeLoopbackCertificate } from '../fakes/loopback-certificate.ts';
import { pythonEnvironment } from '../python/environment.ts';
import { freePort } from './free-port.ts';

export interface Emulator {
  /** `https://127.0.0.1:<port>`, for AWS_ENDPOINT_URL. */
  readonly url: string;
  /** PEM: who trusts this trusts the emulator. */
  readonly certificateFile: string;
  stop(): Promise<void>;
}

const startLimitMs = 60_000;

/**
 * MiniStack on this machine, without Docker: the functions run as Node processes of this same Node. It checks every
 * request of a function against the policy of the function's role, and speaks TLS, since our buckets refuse anything else.
 * @param folder for its state and its log
 */
export async function startEmulator(folder: string): Promise<Emulator> {
  const environment = await pythonEnvironment('ministack');
  const port = await freePort();
  const temporary = path.join(folder, 'tmp');
  await mkdir(temporary, { recursive: true });
  const certificateFile = path.join(folder, 'emulator.crt');
  const keyFile = path.join(folder, 'emulator.key');
  const { certificate, privateKey } = makeLoopbackCertificate();
  await writeFile(certificateFile, certificate);
  await writeFile(keyFile, privateKey, { mode: 0o600 });
  const logFile = path.join(folder, 'emulator.log');
  const log = await open(logFile, 'a');
  const child = spawn(environment.command('ministack'), [], {
    cwd: folder,
    // A group of its own, so that it ends together with the functions that it runs.
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    env: {
      // Functions inherit all of this, so it holds nothing else of ours.
      PATH: `${path.dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      TMPDIR: temporary,
      GATEWAY_PORT: String(port),
      BIND_HOST: '127.0.0.1',
      LAMBDA_EXECUTOR: 'local',
      // A fresh account's quota, for which the dev environment is made.
      LAMBDA_ACCOUNT_CONCURRENCY: '10',
      AUTH: 'true',
      USE_SSL: '1',
      MINISTACK_SSL_CERT: certificateFile,
      MINISTACK_SSL_KEY: keyFile,
      S3_DATA_DIR: path.join(folder, 's3'),
      STATE_DIR: path.join(folder, 'state'),
    },
  });
  // In one await: the event may come while the file is being closed.
  await Promise.all([once(child, 'spawn'), log.close()]);
  trustHere(certificate);
  const url = `https://127.0.0.1:${port}`;
  try {
    await waitUntilReady(url, child, logFile);
  } catch (error) {
    await stop(child);
    throw error;
  }
  return { url, certificateFile, stop: () => stop(child) };
}

/** For this process; those that it starts need NODE_EXTRA_CA_CERTS. */
function trustHere(certificate: string): void {
  setDefaultCACertificates([...getCACertificates('default'), certificate]);
}

async function waitUntilReady(url: string, child: ChildProcess, logFile: string): Promise<void> {
  const giveUpAtMs = Date.now() + startLimitMs;
  while (Date.now() < giveUpAtMs) {
    if (child.exitCode !== null) throw new Error(`MiniStack ended as it started: see ${logFile}`);
    if (await isReady(url)) return;
    await pause(100);
  }
  throw new Error(`MiniStack did not start within ${startLimitMs / 1000} s: see ${logFile}`);
}

async function isReady(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/_ministack/health`, { signal: AbortSignal.timeout(2_000) });
    await answer.body?.cancel();
    return answer.status === 200;
  } catch {
    // Nothing listens there yet: that is the answer.
    return false;
  }
}

/** At once: nothing that it holds is kept, and its own shutdown waits for the functions' connections. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await ended;
}
