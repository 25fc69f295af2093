import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { eventually, generousMs } from './eventually.ts';

const startFile = path.resolve(import.meta.dirname, '../../../local/start.ts');

export interface GatewayProcessOptions {
  readonly dataDir: string;
  readonly port: number;
  readonly studioPort: number;
  readonly reconcileSeconds: number;
  /** Another script than `npm start` runs, that says the same when it is ready. */
  readonly script?: string;
}

/** `npm start` as a process of its own, to be killed as nobody would. */
export class GatewayProcess {
  readonly url: string;
  readonly studioUrl: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string, studioUrl: string) {
    this.#child = child;
    this.url = url;
    this.studioUrl = studioUrl;
  }

  /** @throws Error with all that it said, where it ends before it is ready. */
  static async start(options: GatewayProcessOptions): Promise<GatewayProcess> {
    const child = spawn(process.execPath, [options.script ?? startFile], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        DATA_DIR: options.dataDir,
        PORT: String(options.port),
        STUDIO_PORT: String(options.studioPort),
        LOCAL_RECONCILE_SECONDS: String(options.reconcileSeconds),
      },
    });
    let said = '';
    const hear = (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-20_000));
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    const [url, studioUrl] = await eventually(
      'the gateway is ready',
      () => {
        if (child.exitCode !== null) throw new Error(`The gateway ended as it started:\n${said}`);
        const ready = /Slowlane is ready: (\S+)[\s\S]*studio (\S+?),/.exec(said);
        return ready?.[1] !== undefined && ready[2] !== undefined ? [ready[1], ready[2]] : undefined;
      },
      { withinMs: generousMs, seen: () => said },
    );
    return new GatewayProcess(child, url ?? '', studioUrl ?? '');
  }

  /** At once, in the middle of whatever it does. The studio lives on. */
  async crash(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** In order, the studio too. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
  }
}

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
