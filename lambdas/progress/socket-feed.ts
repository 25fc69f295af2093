import type { Job } from '../domain/job.ts';
import type { LiveMessage, ProgressFeed } from '../domain/ports.ts';
import type { Connections } from './connections.ts';

export interface SocketFeedSettings {
  readonly connections: Connections;
  /** A job as followers see it. */
  readonly render: (job: Job) => Promise<unknown>;
  readonly onGone: (connectionId: string, jobId: string) => Promise<void>;
  readonly onFailed: (error: unknown) => void;
}

/** What waits for one connection: per job the newest snapshot and the newest live value. */
interface Outbox {
  readonly waiting: Map<string, { job?: Job; progress?: LiveMessage & { type: 'progress' } }>;
  sending: Promise<void> | undefined;
}

/** An invocation's end waits no longer than this for slow sockets. */
const longestFlushMs = 4_000;

/**
 * Latest wins per connection: while one message is on its way, newer ones of a job replace those that wait. A slow or
 * dead socket holds up nothing but itself.
 */
export class SocketFeed implements ProgressFeed {
  readonly #settings: SocketFeedSettings;
  readonly #outboxes = new Map<string, Outbox>();

  constructor(settings: SocketFeedSettings) {
    this.#settings = settings;
  }

  send(followers: readonly string[], message: LiveMessage): void {
    for (const connectionId of followers) this.#put(connectionId, message);
  }

  async flush(): Promise<void> {
    const sending = [...this.#outboxes.values()].flatMap((outbox) => outbox.sending ?? []);
    if (sending.length === 0) return;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), longestFlushMs);
    const limited = new Promise<void>((resolve) => limit.signal.addEventListener('abort', () => resolve()));
    await Promise.race([Promise.all(sending), limited]);
    clearTimeout(timer);
  }

  #put(connectionId: string, message: LiveMessage): void {
    const outbox = this.#outboxes.get(connectionId) ?? { waiting: new Map(), sending: undefined };
    this.#outboxes.set(connectionId, outbox);
    const jobId = message.type === 'job' ? message.job.id : message.jobId;
    const entry = outbox.waiting.get(jobId) ?? {};
    if (message.type === 'progress') {
      outbox.waiting.set(jobId, { ...entry, progress: message });
    } else if (entry.job === undefined || entry.job.version <= message.job.version) {
      // A snapshot holds everything that the values before it said.
      outbox.waiting.set(jobId, { job: message.job });
    }
    outbox.sending ??= this.#drain(connectionId, outbox).finally(() => {
      outbox.sending = undefined;
      if (outbox.waiting.size === 0) this.#outboxes.delete(connectionId);
    });
  }

  async #drain(connectionId: string, outbox: Outbox): Promise<void> {
    for (let [next] = outbox.waiting; next !== undefined; [next] = outbox.waiting) {
      const [jobId, { job, progress }] = next;
      outbox.waiting.delete(jobId);
      if (job !== undefined && !(await this.#post(connectionId, jobId, await this.#snapshot(job)))) return;
      if (progress !== undefined && !(await this.#post(connectionId, jobId, liveValue(progress)))) return;
    }
  }

  async #snapshot(job: Job): Promise<unknown> {
    return { type: 'job', job: await this.#settings.render(job) };
  }

  async #post(connectionId: string, jobId: string, message: unknown): Promise<boolean> {
    const posted = await this.#settings.connections.post(connectionId, message);
    if (posted.kind === 'posted') return true;
    if (posted.kind === 'failed') {
      this.#settings.onFailed(posted.error);
      return true;
    }
    this.#outboxes.get(connectionId)?.waiting.clear();
    await this.#settings.onGone(connectionId, jobId).catch(this.#settings.onFailed);
    return false;
  }
}

function liveValue({ jobId, progress, version }: LiveMessage & { type: 'progress' }): unknown {
  return { type: 'progress', jobId, percent: progress.percent, stage: progress.stage ?? null, version };
}
