import type { DatabaseSync } from 'node:sqlite';

import { inTransaction } from './database.ts';
import type { FaultBoard } from './fault-board.ts';
import type { JobFeed } from './job-feed.ts';
import type { Progress, StudioJob } from './job.ts';
import type { Ending, Ledger } from './ledger.ts';
import type { PictureFolder } from './picture-folder.ts';
import { playRunFault } from './run-fault.ts';
import type { WebhookSender } from './webhook-sender.ts';
import type { Watch, WorkOutcome } from './work.ts';

export interface RunnerParts {
  readonly database: DatabaseSync;
  readonly ledger: Ledger;
  readonly pictures: PictureFolder;
  readonly faults: FaultBoard;
  readonly feed: JobFeed;
  readonly webhooks: WebhookSender;
  readonly concurrency: number;
  work(job: StudioJob, input: Buffer, watch: Watch): Promise<WorkOutcome>;
}

interface Run {
  readonly stop: AbortController;
  progress: Progress;
  ended: Promise<void>;
}

/** Runs accepted jobs in order, some at a time. What it was doing when the process died, it does again. */
export class Runner {
  readonly #parts: RunnerParts;
  #waiting: string[] = [];
  readonly #runs = new Map<string, Run>();
  #halted = false;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  /** Takes up everything that the ledger holds unfinished. */
  resume(): void {
    this.#halted = false;
    this.#waiting = this.#parts.ledger.unfinished().map((job) => job.id);
    this.#startWaiting();
  }

  enqueue(jobId: string): void {
    this.#waiting.push(jobId);
    this.#startWaiting();
  }

  /** Ends a waiting job at once. A running one stops when its work next looks up, or not if that is done before. */
  cancel(job: StudioJob): StudioJob {
    const asked = this.#parts.ledger.askToCancel(job.id, Date.now());
    const run = this.#runs.get(job.id);
    if (run) {
      run.stop.abort();
      return this.live(asked);
    }
    if (!this.#waiting.includes(job.id)) return asked;
    this.#waiting = this.#waiting.filter((id) => id !== job.id);
    return this.#finish(job.id, { status: 'canceled' }, asked.progress);
  }

  /** The job with its progress as of now, which the ledger doesn't write down. */
  live(job: StudioJob): StudioJob {
    const run = this.#runs.get(job.id);
    return run && job.status === 'running' ? { ...job, progress: run.progress } : job;
  }

  /** Stops all work without ending any job, so that `resume` finds them unfinished. */
  async halt(): Promise<void> {
    this.#halted = true;
    this.#waiting = [];
    const runs = [...this.#runs.values()];
    for (const run of runs) run.stop.abort();
    await Promise.all(runs.map((run) => run.ended));
  }

  #startWaiting(): void {
    while (!this.#halted && this.#runs.size < this.#parts.concurrency) {
      const jobId = this.#waiting.shift();
      if (jobId === undefined) return;
      const run: Run = {
        stop: new AbortController(),
        progress: { percent: 0, stage: 'starting' },
        ended: Promise.resolve(),
      };
      this.#runs.set(jobId, run);
      run.ended = this.#run(jobId, run).finally(() => {
        this.#runs.delete(jobId);
        this.#startWaiting();
      });
    }
  }

  async #run(jobId: string, run: Run): Promise<void> {
    const job = this.#begin(jobId);
    if (job.cancelRequestedAtMs !== null) {
      this.#finish(jobId, { status: 'canceled' }, run.progress);
      return;
    }
    const ending = await this.#work(job, run);
    // Halted in mid-work: the job stays unfinished, and its next run starts over.
    if (ending === 'stopped' && this.#halted) return;
    this.#finish(jobId, ending === 'stopped' ? { status: 'canceled' } : ending, run.progress);
  }

  async #work(job: StudioJob, run: Run): Promise<Ending | 'stopped'> {
    const watch: Watch = { signal: run.stop.signal, report: (progress) => this.#report(job, run, progress) };
    try {
      const input = await this.#parts.pictures.readInput(job.id);
      const fault = this.#parts.faults.take('run', job.order.feature);
      const faulted = fault && (await playRunFault(fault, input, watch, this.#parts.faults.hurried));
      const outcome = faulted ?? (await this.#parts.work(job, input, watch));
      if (outcome.outcome === 'stopped') return 'stopped';
      if (outcome.outcome === 'failed') return { status: 'failed', error: outcome.reason };
      await this.#parts.pictures.saveResult(job.id, outcome.picture.bytes);
      return { status: 'succeeded', result: outcome.picture.facts };
    } catch (error) {
      // A broken disk or a bug ends this one job; the others, and the API, go on.
      console.error(`studio: job ${job.id} broke`, error);
      return { status: 'failed', error: 'The studio broke down while it made this picture.' };
    }
  }

  #begin(jobId: string): StudioJob {
    const { database, ledger, webhooks, feed } = this.#parts;
    const before = ledger.existing(jobId);
    // Began before a restart: its caller was told already.
    if (before.status === 'running') return before;
    const job = inTransaction(database, () => {
      const begun = ledger.begin(jobId, Date.now());
      webhooks.owe(begun, 'started');
      return begun;
    });
    feed.publish({ kind: 'status', job });
    webhooks.deliverOwed(jobId);
    return job;
  }

  #finish(jobId: string, ending: Ending, last: Progress): StudioJob {
    const { database, ledger, webhooks, feed } = this.#parts;
    const progress =
      ending.status === 'succeeded' ? { percent: 100, stage: 'done' } : { ...last, stage: ending.status };
    const job = inTransaction(database, () => {
      const finished = ledger.finish(jobId, ending, progress, Date.now());
      webhooks.owe(finished, 'finished');
      return finished;
    });
    feed.publish({ kind: 'status', job });
    webhooks.deliverOwed(jobId);
    return job;
  }

  #report(job: StudioJob, run: Run, progress: Progress): void {
    const percent = Math.max(run.progress.percent, Math.min(100, Math.round(progress.percent * 10) / 10));
    run.progress = { percent, stage: progress.stage };
    this.#parts.feed.publish({ kind: 'progress', job: { ...job, progress: run.progress } });
  }
}
