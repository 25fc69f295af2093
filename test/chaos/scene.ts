import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { tickMs } from '../../lambdas/domain/timing.ts';
import { Api, type Answer } from '../e2e/harness/api.ts';
import { freePort, GatewayProcess, type GatewayProcessOptions } from '../e2e/harness/gateway-process.ts';
import { tickMs as impatientTickMs } from '../e2e/harness/impatient-timing.ts';
import { Runtime } from '../e2e/harness/runtime.ts';
import { Studio } from '../e2e/harness/studio.ts';

/** How long what the protocol does by itself may take. */
export interface Pace {
  /** One interval of the schedule, as it is deployed. */
  readonly intervalMs: number;
  /** The longest that a lost worker or a lost answer stays unknown: a watch's lease, or a send's deadline. */
  readonly orphanedMs: number;
  /** A tick's own work, on a loaded machine. */
  readonly tickTakesMs: number;
  /** From a flag to the moment at which the request that it is about is surely over. */
  readonly sendIsOverMs: number;
}

const pace: Pace = { intervalMs: tickMs, orphanedMs: 45_000, tickTakesMs: 10_000, sendIsOverMs: 50_000 };
const impatientPace: Pace = {
  intervalMs: impatientTickMs,
  orphanedMs: 10_000,
  tickTakesMs: 4_000,
  sendIsOverMs: 12_000,
};

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
    const keeps = impatient ? impatientPace : pace;
    const options = {
      dataDir: await mkdtemp(path.join(tmpdir(), 'slowlane-chaos-')),
      port: await freePort(),
      studioPort: await freePort(),
      // Under the faults, so that the lane moves at all; then, as deployed.
      reconcileSeconds: 2,
      ...(impatient ? { script: path.join(import.meta.dirname, 'gateway.ts') } : {}),
    };
    return new Scene(options, await GatewayProcess.start(options), keeps);
  }

  /** kill -9, and up again after a while; `ticks`: from then on. */
  async crashGateway(downMs: number, ticks: 'often' | 'as deployed' = 'often'): Promise<void> {
    await this.#gateway.crash();
    await pause(downMs);
    const { reconcileSeconds } = this.#options;
    this.#gateway = await GatewayProcess.start({
      ...this.#options,
      reconcileSeconds: ticks === 'often' ? reconcileSeconds : this.pace.intervalMs / 1_000,
    });
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

const firstPauseMs = 400;
const longestPauseMs = 5_000;

/** As an app does it: the same request, less and less often, until somebody answers it. A string: what came last instead. */
export async function insist(send: () => Promise<Answer>, untilMs: number): Promise<Answer | string> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const answer = await send().catch(String);
    if (typeof answer !== 'string' && answer.status < 500 && answer.status !== 429) return answer;
    if (performance.now() > untilMs) return typeof answer === 'string' ? answer : `${answer.status} ${answer.text}`;
    await pause(pauseMs);
  }
}
