import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import type { FunctionError, ThreadData, ThreadReport, ThreadRequest } from './lambda-thread.ts';

export type EnvironmentOutcome =
  | { kind: 'answered'; payload: string }
  | { kind: 'failed'; error: FunctionError }
  | { kind: 'timed-out'; error: FunctionError };

export interface EnvironmentSpec {
  readonly thread: ThreadData;
  readonly variables: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly onOutput: (chunk: Buffer) => void;
}

/** AWS gives a bundle 10 s to load before it starts over; a loaded laptop with a cold disk may need longer. */
const initLimitMs = 30_000;

/** One sandbox of a function: a worker thread that runs one invocation at a time and dies of a timeout, like Lambda's. */
export class ExecutionEnvironment {
  readonly #spec: EnvironmentSpec;
  readonly #worker: Worker;
  readonly #ready: Promise<FunctionError | undefined>;
  #death: FunctionError | undefined;
  #running: { requestId: string; settle: (outcome: EnvironmentOutcome) => void } | undefined;
  #whenDead: (error: FunctionError) => void = () => undefined;

  constructor(spec: EnvironmentSpec) {
    this.#spec = spec;
    this.#worker = new Worker(new URL('lambda-thread.ts', import.meta.url), {
      name: spec.thread.functionName,
      workerData: spec.thread,
      env: spec.variables,
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: spec.thread.memoryMegabytes, maxYoungGenerationSizeMb: 16 },
    });
    for (const stream of [this.#worker.stdout, this.#worker.stderr] as Readable[]) stream.on('data', spec.onOutput);
    this.#ready = new Promise((resolve) => {
      this.#whenDead = resolve;
      this.#worker.on('message', (report: ThreadReport) => this.#onReport(report, () => resolve(undefined)));
    });
    this.#worker.on('error', (thrown: unknown) => this.#die(crash(thrown)));
    this.#worker.on('exit', (code) =>
      this.#die({ errorType: 'Runtime.ExitError', errorMessage: `Runtime exited with code ${code}`, trace: [] }),
    );
  }

  get dead(): boolean {
    return this.#death !== undefined;
  }

  get busy(): boolean {
    return this.#running !== undefined;
  }

  /** Runs one invocation. Its clock starts once the bundle is loaded, as Lambda doesn't bill a timeout for init. */
  async run(payload: string): Promise<EnvironmentOutcome> {
    if (this.#running !== undefined) throw new Error(`${this.#spec.thread.functionName} already runs an invocation.`);
    const requestId = randomUUID();
    const settled = new Promise<EnvironmentOutcome>((resolve) => {
      this.#running = { requestId, settle: resolve };
    });
    const initTimer = setTimeout(() => this.#stop('Sandbox.InitTimedout', `Init timed out`), initLimitMs);
    const failedInit = await this.#ready;
    clearTimeout(initTimer);
    const death = failedInit ?? this.#death;
    if (death !== undefined) {
      this.#running = undefined;
      return { kind: 'failed', error: death };
    }
    const { timeoutMs } = this.#spec;
    const timer = setTimeout(() => {
      const error = this.#stop('Sandbox.Timedout', `${requestId} Task timed out after ${timeoutMs / 1000} seconds`);
      this.#settle({ kind: 'timed-out', error });
    }, timeoutMs);
    const request: ThreadRequest = { requestId, payload, deadlineMs: Date.now() + timeoutMs };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
    this.#worker.postMessage(request);
    const outcome = await settled;
    clearTimeout(timer);
    return outcome;
  }

  /** Ends the thread in mid-write, as a crash would. */
  async kill(): Promise<void> {
    this.#settle({ kind: 'failed', error: this.#stop('Runtime.ExitError', 'The environment was killed') });
    await this.#worker.terminate();
  }

  #onReport(report: ThreadReport, ready: () => void): void {
    switch (report.kind) {
      case 'ready':
        return ready();
      case 'answered':
        if (report.requestId === this.#running?.requestId) this.#settle({ kind: 'answered', payload: report.payload });
        return;
      case 'failed':
        if (report.requestId === this.#running?.requestId) this.#settle({ kind: 'failed', error: report.error });
        return;
    }
  }

  #stop(errorType: string, errorMessage: string): FunctionError {
    const error: FunctionError = { errorType, errorMessage, trace: [] };
    this.#die(error);
    void this.#worker.terminate();
    return error;
  }

  #die(error: FunctionError): void {
    this.#death ??= error;
    this.#whenDead(error);
    // A timeout or kill settles with its own words; what is still running here died of something else.
    if (error.errorType !== 'Sandbox.Timedout') this.#settle({ kind: 'failed', error });
  }

  #settle(outcome: EnvironmentOutcome): void {
    const running = this.#running;
    this.#running = undefined;
    running?.settle(outcome);
  }
}

function crash(thrown: unknown): FunctionError {
  if (!(thrown instanceof Error)) return { errorType: 'Runtime.ExitError', errorMessage: String(thrown), trace: [] };
  return { errorType: thrown.name, errorMessage: thrown.message, trace: (thrown.stack ?? '').split('\n') };
}
