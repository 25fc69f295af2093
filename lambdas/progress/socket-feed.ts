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
  readonly sending: Promise<void>;
}

/** A snapshot on its way, with as many tries as it takes. */
interface UnderWay {
  readonly job: Job;
  /** A newer snapshot waits: this one is not tried again. */
  readonly replaced: AbortController;
}

/** An invocation's end waits no longer than this for slow sockets. */
const longestFlushMs = 4_000;

/**
 * Latest wins per connection: while one message is on its way, newer ones of a job replace those that wait. A slow or
 * dead socket holds up nothing but itself. A snapshot is insisted on, since nothing may come after it.
 */
export class SocketFeed implements ProgressFeed {
  readonly #settings: SocketFeedSettings;
  readonly #outboxes = new Map<string, Outbox>();
  /** By connection. */
  readonly #underWay = new Map<string, UnderWay>();

  constructor(settings: SocketFeedSettings) {
    this.#settings = settings;
  }

  send(followers: readonly string[], message: LiveMessage): void {
    for (const connectionId of followers) this.#put(connectionId, message);
  }

  async flush(): Promise<void> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), longestFlushMs);
    const limited = new Promise<void>((resolve) => limit.signal.addEventListener('abort', () => resolve()));
    while (this.#outboxes.size > 0 && !limit.signal.aborted) {
      const sending = [...this.#outboxes.values()].map((outbox) => outbox.sending);
      await Promise.race([Promise.all(sending), limited]);
    }
    clearTimeout(timer);
  }

  #put(connectionId: string, message: LiveMessage): void {
    if (message.type === 'job' && !this.#isNews(connectionId, message.job)) return;
    const outbox = this.#outboxes.get(connectionId) ?? this.#open(connectionId);
    const jobId = message.type === 'job' ? message.job.id : message.jobId;
    const entry = outbox.waiting.get(jobId) ?? {};
    if (message.type === 'progress') {
      outbox.waiting.set(jobId, { ...entry, progress: message });
    } else if (entry.job === undefined || entry.job.version <= message.job.version) {
      // A snapshot holds everything that the values before it said.
      outbox.waiting.set(jobId, { job: message.job });
    }
  }

  /** False: a newer snapshot is on its way. An older one that is on its way has no further try. */
  #isNews(connectionId: string, job: Job): boolean {
    const underWay = this.#underWay.get(connectionId);
    if (underWay?.job.id !== job.id) return true;
    if (underWay.job.version > job.version) return false;
    underWay.replaced.abort();
    return true;
  }

  /** An outbox is there exactly while something is being sent from it: whatever is put into it meanwhile goes too. */
  #open(connectionId: string): Outbox {
    const waiting: Outbox['waiting'] = new Map();
    const outbox: Outbox = { waiting, sending: Promise.resolve().then(() => this.#drain(connectionId, waiting)) };
    this.#outboxes.set(connectionId, outbox);
    return outbox;
  }

  async #drain(connectionId: string, waiting: Outbox['waiting']): Promise<void> {
    for (let [next] = waiting; next !== undefined; [next] = waiting) {
      const [jobId, { job, progress }] = next;
      waiting.delete(jobId);
      const isThere =
        (job === undefined || (await this.#postSnapshot(connectionId, job))) &&
        (progress === undefined || (await this.#post(connectionId, jobId, async () => liveValue(progress))));
      if (!isThere) waiting.clear();
    }
    this.#outboxes.delete(connectionId);
  }

  async #postSnapshot(connectionId: string, job: Job): Promise<boolean> {
    const replaced = new AbortController();
    this.#underWay.set(connectionId, { job, replaced });
    const isThere = await this.#post(connectionId, job.id, () => this.#snapshot(job), replaced.signal);
    this.#underWay.delete(connectionId);
    return isThere;
  }

  async #snapshot(job: Job): Promise<unknown> {
    return { type: 'job', job: await this.#settings.render(job) };
  }

  /** False: nobody is there any more. */
  async #post(
    connectionId: string,
    jobId: string,
    message: () => Promise<unknown>,
    insist?: AbortSignal,
  ): Promise<boolean> {
    const { connections, onGone, onFailed } = this.#settings;
    try {
      const posted = await connections.post(connectionId, await message(), insist);
      if (posted.kind === 'failed') onFailed(posted.error);
      if (posted.kind !== 'gone') return true;
      await onGone(connectionId, jobId);
      return false;
    } catch (error) {
      // What can't be shown or forgotten now must not end the job's own work.
      onFailed(error);
      return true;
    }
  }
}

function liveValue({ jobId, progress, version }: LiveMessage & { type: 'progress' }): unknown {
  return { type: 'progress', jobId, percent: progress.percent, stage: progress.stage ?? null, version };
}
