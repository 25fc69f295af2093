import type { Job } from './job.ts';
import type { Lane } from './lane.ts';
import type {
  Clock,
  Deadlines,
  Doorbell,
  EventBus,
  EvidenceStore,
  FileStore,
  JobIndex,
  JobStore,
  LaneStore,
  ProgressFeed,
  Tokens,
  Waiting,
} from './ports.ts';
import type { Vendors } from './vendor.ts';

/** What an operator may want to know of; the runtime makes log lines and metrics of it. */
export type Notice =
  | { readonly kind: 'claimed'; readonly job: Job }
  | { readonly kind: 'sent'; readonly job: Job; readonly outcome: string; readonly cause: string | undefined }
  | { readonly kind: 'moved'; readonly job: Job; readonly transition: string }
  | { readonly kind: 'flagged'; readonly job: Job }
  | { readonly kind: 'vendor_job_conflict'; readonly job: Job; readonly vendorJobId: string; readonly ownedBy: string }
  | { readonly kind: 'vendor_not_configured'; readonly job: Job }
  | { readonly kind: 'running_without_hold'; readonly job: Job }
  | { readonly kind: 'hold_missing'; readonly job: Job }
  | { readonly kind: 'lane_tripped'; readonly lane: string; readonly reason: string }
  | { readonly kind: 'lane_reopened'; readonly lane: string }
  | { readonly kind: 'swept'; readonly lane: string; readonly jobId: string }
  | { readonly kind: 'announced'; readonly job: Job }
  | { readonly kind: 'lane_seen'; readonly lane: Lane; readonly queued: number };

export interface Notices {
  note(notice: Notice): void;
}

/** Everything that the verbs which move jobs work on. */
export interface World {
  readonly clock: Clock;
  readonly tokens: Tokens;
  readonly waiting: Waiting & Deadlines;
  readonly jobs: JobStore;
  readonly index: JobIndex;
  readonly lanes: LaneStore;
  readonly doorbell: Doorbell;
  readonly files: FileStore;
  readonly evidence: EvidenceStore;
  readonly vendors: Vendors;
  readonly bus: EventBus;
  readonly feed: ProgressFeed;
  readonly notices: Notices;
  /** Where a vendor posts its events about this generation; absent where it can't. */
  readonly callbackUrl: (job: Job) => Promise<string | undefined>;
  readonly retentionMs: number;
}
