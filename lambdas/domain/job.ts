import type { JsonObject } from './vendor.ts';

/** One user action, from submit to its end. Times are epoch ms. The stored item stays under 1 KB. */

export const activeStates = ['queued', 'dispatching', 'running', 'needs_attention'] as const;
export const terminalStates = ['succeeded', 'failed', 'canceled'] as const;
export const states = [...activeStates, ...terminalStates] as const;
export type State = (typeof states)[number];
export type TerminalState = (typeof terminalStates)[number];

export function isTerminal(state: State): state is TerminalState {
  return state === 'succeeded' || state === 'failed' || state === 'canceled';
}

/** The unit of a lane's cap that the job is bound to. */
export interface Hold {
  readonly token: string;
}

export interface Progress {
  /** 0–100, never down within a generation. */
  readonly percent: number;
  readonly stage: string | undefined;
  readonly at: number;
}

/** Our own copy of a finished picture. */
export interface StoredPicture {
  readonly key: string;
  readonly contentType: string;
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
}

export const flagCodes = [
  /** A send may have reached the vendor and we can't tell. */
  'unknown_send',
  /** A worker died between claim and answer: the request may have left. */
  'worker_lost',
  /** The vendor no longer knows a job that it took. */
  'vendor_lost_job',
  /** Past its run deadline, and the vendor doesn't say that it ended. */
  'overdue',
  /** The vendor finished, but its picture can't be had. */
  'result_lost',
  /** The vendor's answer names a vendor job that another job of ours owns. */
  'vendor_job_conflict',
  /** The table was restored from a backup: what happened since is not known. */
  'restored',
] as const;
export type FlagCode = (typeof flagCodes)[number];

export interface Flag {
  readonly code: FlagCode;
  readonly since: number;
}

export interface Failure {
  /** Stable, for programs: `refused_by_vendor`, `failed_at_vendor`, `expired_in_queue`, `sends_spent`, `failed_by_operator`. */
  readonly code: string;
  /** For the end user; at most 160 characters. */
  readonly message: string;
}

/** What the request said, written once. */
export interface Submitted {
  readonly id: string;
  /** `<tenant>/<user>`, both percent-encoded. */
  readonly owner: string;
  readonly feature: string;
  readonly vendor: string;
  readonly adapterVersion: number;
  readonly lane: string;
  /** `v1:<sha256>` over what the request said. */
  readonly fingerprint: string;
  /** Names the picture and the request item that belong to this job, and not to the loser of a race. */
  readonly submitToken: string;
  readonly createdAt: number;
  readonly picture: InputPicture | undefined;
  readonly maxQueueMs: number;
  readonly maxRunMs: number;
}

export interface InputPicture {
  readonly contentType: string;
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
  /** The presigned upload that it was copied from: a retry that names it matches by it. */
  readonly uploadId: string | undefined;
  /** Of the bytes received. */
  readonly sha256: string;
}

/** Every field that an item can have. `Job` says which of them a state is sure to have. */
export interface JobFields extends Submitted {
  /** Raised by every transition. */
  readonly version: number;
  /** The fence for writes that carry no proof. */
  readonly attempt: number;
  /** Raised only by a person's resend. */
  readonly generation: number;

  /** Place in the lane's order: lowest first. */
  readonly rank: number;
  /** When it (last) began to wait, and how long its lane had been closed in all until then. */
  readonly queuedAt: number;
  readonly laneClosedMs: number;
  /** When the reconciler looks next. */
  readonly checkAt: number;

  readonly hold: Hold | undefined;
  /** Written by claim and retake only: a refused write whose old item bears it was our own success. */
  readonly claimToken: string | undefined;
  readonly sendBy: number | undefined;
  readonly dispatchBy: number | undefined;
  /** Sends of this generation since its hold was bound: an answer is about the only one iff this is 1. */
  readonly sends: number;
  /** Sends of this generation in all: the budget. */
  readonly tries: number;
  readonly firstTriedAt: number | undefined;
  /** Sticky per generation: an earlier send may have been taken. */
  readonly maybeSent: boolean;
  readonly vendorJobId: string | undefined;
  /** Set once per generation, at the first receipt. */
  readonly runUntil: number | undefined;
  readonly watchUntil: number | undefined;
  readonly startedAt: number | undefined;
  readonly progress: Progress | undefined;

  readonly cancelRequestedAt: number | undefined;
  readonly flag: Flag | undefined;
  readonly results: readonly StoredPicture[];
  readonly failure: Failure | undefined;
  readonly finishedAt: number | undefined;
  /** Epoch seconds; terminal jobs only. */
  readonly ttl: number | undefined;
  /** The version of the transition whose event is not sent yet. */
  readonly announce: number | undefined;
  /** Socket connections that follow it; at most 8. */
  readonly followers: readonly string[];
}

interface Known {
  readonly queued: object;
  readonly dispatching: {
    readonly hold: Hold;
    readonly claimToken: string;
    readonly sendBy: number;
    readonly dispatchBy: number;
  };
  readonly running: { readonly hold: Hold; readonly vendorJobId: string; readonly runUntil: number };
  readonly needs_attention: { readonly flag: Flag };
  readonly succeeded: { readonly finishedAt: number };
  readonly failed: { readonly finishedAt: number; readonly failure: Failure };
  readonly canceled: { readonly finishedAt: number };
}

export type Job<S extends State = State> = { [K in S]: JobFields & { readonly state: K } & Known[K] }[S];

/** What is sent to the vendor besides the picture; kept beside the job, not in it. */
export interface JobRequest {
  readonly parameters: JsonObject;
  readonly metadata: JsonObject | undefined;
  readonly consent: Consent | undefined;
}

export interface Consent {
  readonly by: string;
  readonly at: number;
}

/** What remains of an erased job: its key never buys again. */
export interface Tombstone {
  readonly id: string;
  readonly owner: string;
  readonly erasedAt: number;
}

/** Owners are stored as one string; neither part can contain the slash. */
export function ownerOf(tenant: string, user: string): string {
  return `${encodeURIComponent(tenant)}/${encodeURIComponent(user)}`;
}

export function tenantOf(owner: string): string {
  return decodeURIComponent(owner.slice(0, owner.indexOf('/')));
}

export function userOf(owner: string): string {
  return decodeURIComponent(owner.slice(owner.indexOf('/') + 1));
}

export function vendorKeyOf(job: Pick<Job, 'id' | 'generation'>): string {
  return `${job.id}.${job.generation}`;
}

/** The job that a vendor's key names; undefined: the key is none of ours. */
export function jobInVendorKey(vendorKey: string): string | undefined {
  return /^(job_[a-z0-9]+)\.[1-9]\d*$/.exec(vendorKey)?.[1];
}

export function inputKeyOf(job: Pick<Submitted, 'owner' | 'id' | 'submitToken'>): string {
  return `inputs/${job.owner}/${job.id}/${job.submitToken}`;
}

/** Results are named by generation: a late copy of an older generation never replaces a newer one's picture. */
export function resultKeyOf(job: Pick<Job, 'owner' | 'id' | 'generation'>, index: number): string {
  return `results/${job.owner}/${job.id}/${job.generation}-${index}`;
}
