import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Api, type Answer } from '../e2e/harness/api.ts';
import { freePort, GatewayProcess, type GatewayProcessOptions } from '../e2e/harness/gateway-process.ts';
import { Runtime } from '../e2e/harness/runtime.ts';
import { Studio } from '../e2e/harness/studio.ts';

/** How long what the protocol does by itself may take. */
export interface Pace {
  /** One interval of the schedule. */
  readonly intervalMs: number;
  /** From a flag to the moment at which the request that it is about is surely over. */
  readonly sendIsOverMs: number;
}

const pace: Pace = { intervalMs: 60_000, sendIsOverMs: 50_000 };
const impatientPace: Pace = { intervalMs: 5_000, sendIsOverMs: 12_000 };

/** The gateway as a process that may be gone, its vendor, and those who use them. */
export class Scene {
  readonly api: Api;
  readonly studio: Studio;
  readonly runtime: Runtime;
  readonly pace: Pace;
  readonly #options: GatewayProcessOptions;
  #gateway: GatewayProcess;

  private constructor(options: GatewayProcessOptions, gateway: GatewayProcess, pace: Pace) {
    this.#options = options;
    this.#gateway = gateway;
    this.pace = pace;
    this.api = new Api(gateway.url, { 'X-API-Key': 'local-operator-key' });
    this.studio = new Studio(gateway.studioUrl, options.dataDir);
    this.runtime = new Runtime(gateway.url);
  }

  static async open({ impatient }: { impatient: boolean }): Promise<Scene> {
    const options = {
      dataDir: await mkdtemp(path.join(tmpdir(), 'slowlane-chaos-')),
      port: await freePort(),
      studioPort: await freePort(),
      reconcileSeconds: 2,
      ...(impatient ? { script: path.join(import.meta.dirname, 'gateway.ts') } : {}),
    };
    return new Scene(options, await GatewayProcess.start(options), impatient ? impatientPace : pace);
  }

  /** kill -9, and up again after a while. */
  async crashGateway(downMs: number): Promise<void> {
    await this.#gateway.crash();
    await pause(downMs);
    this.#gateway = await GatewayProcess.start(this.#options);
  }

  async crashStudio(downMs: number): Promise<void> {
    await this.studio.stop();
    await pause(downMs);
    await this.studio.start();
  }

  async close(): Promise<void> {
    await this.#gateway.stop();
    await this.studio.end();
    await rm(this.#options.dataDir, { recursive: true, force: true });
  }
}

const retryMs = 400;

/** As an app does it: the same request, until somebody answers it. `undefined`: not before the deadline. */
export async function insist(send: () => Promise<Answer>, untilMs: number): Promise<Answer | undefined> {
  while (performance.now() < untilMs) {
    const answer = await send().catch(() => undefined);
    if (answer !== undefined && answer.status < 500 && answer.status !== 429) return answer;
    await pause(retryMs);
  }
  return undefined;
}
