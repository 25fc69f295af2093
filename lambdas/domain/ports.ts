import type { Hold, Job, JobRequest, Progress, State, Tombstone } from './job.ts';
import type { HeldUnit, Lane, LaneState } from './lane.ts';
import type { Move, To, Transition } from './lifecycle.ts';
import type { JsonObject } from './vendor.ts';

/** What the domain needs of the world. Infrastructure that doesn't answer throws; everything expected is a value. */

export interface Clock {
  /** Epoch ms. */
  now(): number;
}

export interface Tokens {
  /** At least 96 random bits, as URL-safe text. */
  next(): string;
}

export interface Waiting {
  /** Resolves after so long, or at once when the signal aborts. */
  wait(durationMs: number, signal: AbortSignal): Promise<void>;
}

export interface Deadlines {
  /** Aborts after so long. */
  deadline(durationMs: number): AbortSignal;
}

export type Read =
  | { readonly kind: 'job'; readonly job: Job }
  | { readonly kind: 'erased'; readonly tombstone: Tombstone };

export type Created =
  | { readonly kind: 'created' }
  /** The key's job is there already; this caller's own put never counts as somebody else's. */
  | { readonly kind: 'exists'; readonly found: Read };

export type Moved<T extends Transition> =
  /**
   * `unbound`: the hold that this write removed from the job, to be freed in the lane. `followers`: who followed it until
   * this write, which forgets them if it ends the job.
   */
  | {
      readonly kind: 'moved';
      readonly job: Job<To<T>>;
      readonly unbound: Hold | undefined;
      readonly followers: readonly string[];
    }
  | { readonly kind: 'refused'; readonly actual: Job | undefined };

export type Linked =
  /** `isNew`: it was said for the first time. */
  | { readonly kind: 'linked'; readonly isNew: boolean }
  | { readonly kind: 'owned'; readonly jobId: string; readonly generation: number };

export type Followed =
  | { readonly kind: 'following'; readonly job: Job }
  | { readonly kind: 'full'; readonly job: Job }
  | { readonly kind: 'absent' };

/** The jobs by id, strongly consistent. */
export interface JobStore {
  read(id: string): Promise<Read | undefined>;
  /** One conditional put. The whole idempotency check: a loser gets the winner back in the same round trip. */
  create(job: Job<'queued'>): Promise<Created>;
  /** One conditional update, its condition and its effect derived from the lifecycle's row. */
  move<T extends Transition>(moving: Move<T>): Promise<Moved<T>>;

  /**
   * `keptUntil`: epoch ms from which it may be gone, unless its job ends before: it is then kept as long as the job. So
   * the request of a submit that died before it made a job has an end as well.
   */
  putRequest(id: string, submitToken: string, request: JobRequest, keptUntil: number): Promise<void>;
  readRequest(id: string, submitToken: string): Promise<JobRequest | undefined>;
  deleteRequest(id: string, submitToken: string): Promise<void>;

  /**
   * Says which job a vendor's job belongs to; the first one to say so keeps it. `keptUntil`: as for a request. That of an
   * older generation, and of a vendor whose answer is the picture, is not the job's own when it ends.
   */
  linkVendorJob(
    vendor: string,
    vendorJobId: string,
    jobId: string,
    generation: number,
    keptUntil: number,
  ): Promise<Linked>;
  /** Whose it is, strongly consistent. */
  vendorJobOwner(
    vendor: string,
    vendorJobId: string,
  ): Promise<{ readonly jobId: string; readonly generation: number } | undefined>;

  /** Adds a connection and returns the snapshot to send it, in one update; never raises the version. */
  follow(id: string, owner: string, connectionId: string): Promise<Followed>;
  unfollow(id: string, connectionId: string): Promise<void>;

  /** Iff terminal without a hold and of this version: leaves a tombstone. The job's siblings go with `eraseSiblings`. */
  erase(job: Job, erasedAt: number): Promise<'erased' | 'moved_on'>;
  /** Requests and evidence of a job; its audit stays. Returns how many items went. */
  eraseSiblings(id: string): Promise<number>;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Opaque; absent: no more. */
  readonly next: string | undefined;
}

export interface Due {
  readonly id: string;
  readonly checkAt: number;
}

export interface Flagged {
  readonly id: string;
  readonly since: number;
  /** With which its lane goes on after it. */
  readonly cursor: string;
}

/** The sparse indexes: eventually consistent, so always a hint, decided by a strong read or a condition. */
export interface JobIndex {
  /** Lowest rank first. */
  queued(lane: string, limit: number): Promise<readonly string[]>;
  countQueued(lane: string): Promise<number>;
  /** How many go before this rank; no more than `most` are counted. */
  countAhead(lane: string, rank: number, most: number): Promise<number>;
  /** Oldest `checkAt` first, up to and including `until`. */
  due(shard: number, until: number, cursor: string | undefined, limit: number): Promise<Page<Due>>;
  /** Oldest flag first. */
  flagged(lane: string, cursor: string | undefined, limit: number): Promise<Page<Flagged>>;
  /** The same jobs as they were a moment ago, fewer than `limit` where some are gone: for counts, at half the price. */
  glanceFlagged(lane: string, cursor: string | undefined, limit: number): Promise<Page<Job>>;
  /** Newest first. `states` filters within a page, so a page may be short or empty and still have a next one. */
  ofOwner(
    owner: string,
    states: readonly State[] | undefined,
    cursor: string | undefined,
    limit: number,
  ): Promise<Page<string>>;
}

/** The `active` index is spread over so many shards. */
export const activeShards = 8;

export type LaneHeld =
  /** `probing`: the lane is tripped, and this is the one job that finds out whether it may be opened. */
  | { readonly kind: 'held'; readonly probing: boolean; readonly since: number }
  | { readonly kind: 'full' }
  | { readonly kind: 'closed'; readonly state: LaneState }
  | { readonly kind: 'not_yet'; readonly notBefore: number };

export interface LaneChange {
  readonly cap?: number;
  readonly state?: LaneState;
  readonly by: string;
  readonly reason: string;
  readonly at: number;
}

export interface LaneStore {
  /** Strongly consistent. A lane that nobody used yet is made with the cap of the deployment, open. */
  read(lane: string): Promise<Lane>;
  /** May lag: for ranks and displays. */
  glance(lane: string): Promise<Lane>;
  /** Iff the deployment's cap is no longer the one that it took over last. @returns the lane as it is then. */
  takeOverCap(read: Lane): Promise<Lane>;
  /**
   * One conditional update; a retry that finds its own token is a success. Also moves the virtual time to `rank`.
   * Iff `notBefore` is past and there is room: in an open lane; in a tripped one too, which moves `notBefore` on by
   * `probeEveryMs`, so that it lets in one job at a time. `unit.acquiredAt` is the time of the decision.
   */
  hold(lane: string, token: string, unit: HeldUnit, rank: number): Promise<LaneHeld>;
  /** By token, idempotent. */
  free(lane: string, token: string): Promise<'freed' | 'absent'>;
  /** Moves `notBefore` up, never down. */
  backOff(lane: string, notBefore: number): Promise<void>;
  /**
   * Iff it is open and still the stay that was read: a bad key that is mended meanwhile must not close it again.
   * The first probe comes `probeEveryMs` later.
   */
  trip(
    lane: string,
    since: number,
    change: { reason: string; by: string; at: number },
  ): Promise<'tripped' | 'moved_on'>;
  /** Iff it is still the stay that was read. Leaving a closed state adds that stay to `closedMs`. */
  change(
    lane: string,
    since: number,
    change: LaneChange,
  ): Promise<{ kind: 'changed'; lane: Lane } | { kind: 'moved_on' }>;
}

/** What one owner may do. */
export interface Limits {
  /** Unfinished jobs. */
  readonly activeJobs: number;
  readonly submitsPerMinute: number;
}

/** A submit that is about to make its job. */
export interface CountedSubmit {
  readonly owner: string;
  readonly jobId: string;
  readonly lane: string;
  readonly virtualTime: number;
  readonly now: number;
}

export interface OpenJob {
  readonly id: string;
  /** When its submit was counted. */
  readonly since: number;
}

/** The jobs that an owner's counter takes for unfinished. Nobody tells it of an end: many may have ended since. */
export interface OpenJobs {
  readonly jobs: readonly OpenJob[];
  /** Of the counter: another one was written since. */
  readonly revision: number;
}

export type Counted =
  | { readonly kind: 'counted'; readonly rank: number }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'full'; readonly open: OpenJobs };

/** One counter per owner: its submits of a minute, its unfinished jobs, and its last rank in each lane. */
export interface OwnerStore {
  /**
   * Iff both limits leave room, in the one update that counts it: so they are exact, however many submit at once. A job
   * that is open already takes no more room: the same action, sent again.
   *
   * `left`: a full counter without what has ended, which replaces it iff nobody wrote it since.
   */
  count(submit: CountedSubmit, limits: Limits, left?: OpenJobs): Promise<Counted>;
  /** A submit that found no room, in its minute alone, so that the reads that it took are limited as well. */
  countRefused(owner: string, limits: Pick<Limits, 'submitsPerMinute'>, now: number): Promise<void>;
}

/** As many uploads a minute as submits, counted beside them: a picture that is stored for a day costs us, too. */
export interface UploadCounter {
  countUpload(
    owner: string,
    limits: Pick<Limits, 'submitsPerMinute'>,
    now: number,
  ): Promise<{ readonly kind: 'counted' } | Extract<Counted, { kind: 'limited' }>>;
}

/** A ring: "look whether something waits in this lane". The job is only a hint. */
export interface Doorbell {
  ring(lane: string, hint: string | undefined, delayMs?: number): Promise<void>;
}

export interface StoredFile {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** Pictures, ours: uploads, inputs, results. */
export interface FileStore {
  put(key: string, bytes: Uint8Array, contentType: string): Promise<void>;
  get(key: string): Promise<StoredFile | undefined>;
  /** Idempotent. */
  delete(key: string): Promise<void>;
  /** Returns how many went. */
  deletePrefix(prefix: string): Promise<number>;
}

/** What a person needs to decide: what was sent and when, how far it got, what was tried since. */
export interface Evidence {
  readonly at: number;
  readonly attempt: number;
  readonly generation: number;
  readonly vendorKey: string;
  /** What happened, as a stable word: `send_unknown`, `worker_lost`, `vendor_event`, `asked`, `not_found`, … */
  readonly what: string;
  /** Bounded and without secrets. */
  readonly detail: JsonObject;
}

export const mostEvidenceRead = 100;

export interface EvidenceStore {
  add(jobId: string, evidence: Evidence): Promise<void>;
  /** Strongly consistent; oldest first, at most {@link mostEvidenceRead}. */
  read(jobId: string): Promise<readonly Evidence[]>;
}

/** What a person did, with a retention of its own: it outlives the job. */
export interface AuditEntry {
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
  readonly detail: JsonObject;
}

export interface AuditStore {
  add(subject: string, entry: AuditEntry): Promise<void>;
  read(subject: string): Promise<readonly AuditEntry[]>;
}

export interface Announcement {
  /** `<job id>.<version of the transition>`: consumers dedupe on it. */
  readonly id: string;
  readonly at: number;
  readonly job: Job;
}

/** At least once: a subscriber may see an id twice. */
export interface EventBus {
  publish(announcement: Announcement): Promise<void>;
}

export type LiveMessage =
  | { readonly type: 'job'; readonly job: Job }
  | { readonly type: 'progress'; readonly jobId: string; readonly progress: Progress; readonly version: number };

/** Live values to sockets. Never throws for a slow or dead one, and never makes the caller wait for it. */
export interface ProgressFeed {
  send(followers: readonly string[], message: LiveMessage): void;
  /** Everything sent so far has reached its socket, or was given up. */
  flush(): Promise<void>;
}

export interface PictureFacts {
  readonly contentType: string;
  readonly width: number;
  readonly height: number;
}
