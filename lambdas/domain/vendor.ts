/**
 * What the domain asks of a vendor. Every expected answer is a value: an adapter throws only when it is broken itself.
 */

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };
export type JsonObject = { readonly [key: string]: JsonValue };

/**
 * What a vendor does with a second request that bears the same vendor key.
 * - `replay`: returns the original, failed ones too, for `dedupeMs`
 * - `reject`: refuses it without telling the original's id
 * - `lookup`: runs it again, but can be asked for the id that we chose
 * - `inflight`: dedupes only while the first one runs
 * - `none`: runs it again
 */
export type DedupeClass = 'replay' | 'reject' | 'lookup' | 'inflight' | 'none';

export interface VendorTraits {
  readonly dedupe: DedupeClass;
  /** How long the vendor is sure to know a key, from its first send. 0 where `dedupe` is not `replay`. */
  readonly dedupeMs: number;
  /** Whether "no such key" proves that nothing runs, or is only a hint (volatile or lagging listings). */
  readonly absence: 'proof' | 'hint';
  /** How late a taken request may first appear in the vendor's look-up. */
  readonly listingLagMs: number;
  /** Longest time from a request's arrival to its end, the vendor's own queue included; absent: the vendor can't say. */
  readonly maxLifeMs: number | undefined;
  /** HTTP timeout of a submit. For a synchronous vendor: its longest run. */
  readonly sendTimeoutMs: number;
  /** How many times one generation may be sent, releases and retakes together. */
  readonly maxSends: number;
  /** No send of one generation starts later than this after its first. */
  readonly sendWindowMs: number;
}

export interface Picture {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

export interface Submission {
  /** `<job id>.<generation>`: the idempotency key or client id that the vendor gets. */
  readonly vendorKey: string;
  readonly feature: string;
  readonly parameters: JsonObject;
  readonly picture: Picture | undefined;
  readonly callbackUrl: string | undefined;
  /** Epoch ms. Compared with the clock as the last statement before the request. */
  readonly sendBy: number;
  readonly signal: AbortSignal;
}

/** Where the finished picture is: bytes that came with the answer, or a URL that only the adapter may fetch. */
export type VendorResult =
  | { readonly kind: 'url'; readonly url: string; readonly contentType: string | undefined }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly contentType: string };

export type SubmitOutcome =
  | { readonly kind: 'accepted'; readonly vendorJobId: string }
  | { readonly kind: 'finished'; readonly vendorJobId: string | undefined; readonly result: VendorResult }
  /** A definitive answer about this request. `message` is the vendor's reason, bounded and readable. */
  | { readonly kind: 'refused'; readonly status: number; readonly message: string }
  /** The answer is about our account (key, balance, ban), not about this request. */
  | { readonly kind: 'account-refused'; readonly status: number; readonly message: string }
  | { readonly kind: 'throttled'; readonly retryAfterMs: number | undefined; readonly message: string }
  /** No byte of the request has left. */
  | { readonly kind: 'not-sent'; readonly cause: string; readonly message: string }
  /** The request may have been taken. `keyReused`: the vendor says that it saw this key before. */
  | {
      readonly kind: 'unknown';
      readonly cause: string;
      readonly message: string;
      readonly bodySent: boolean;
      readonly keyReused: boolean;
    };

/** The vendor's word about a job that it took. */
export type VendorWord =
  | {
      readonly kind: 'pending';
      readonly phase: 'queued' | 'running';
      readonly percent: number | undefined;
      readonly stage: string | undefined;
    }
  | { readonly kind: 'succeeded'; readonly result: VendorResult }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  | { readonly kind: 'canceled' }
  /** It doesn't know the id. Not its word that nothing runs. */
  | { readonly kind: 'gone' }
  /** No answer, or one that we can't read (an unknown status too). Changes nothing. */
  | { readonly kind: 'unreachable'; readonly message: string; readonly retryAfterMs: number | undefined };

/** `vendorKey` is undefined where this answer doesn't tell it. */
export interface Identified {
  readonly word: VendorWord;
  readonly vendorKey: string | undefined;
}

/** The vendor's word that it doesn't run any more. "Gone" is not. */
export function isLastWord(word: VendorWord | undefined): boolean {
  return word?.kind === 'succeeded' || word?.kind === 'failed' || word?.kind === 'canceled';
}

export type Found =
  | { readonly kind: 'found'; readonly vendorJobId: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreachable'; readonly message: string };

export type FetchedResult =
  | { readonly kind: 'fetched'; readonly bytes: Uint8Array; readonly contentType: string }
  /** It will never be fetched: expired, refused, too large, not a picture, a host that is not the vendor's. */
  | { readonly kind: 'lost'; readonly message: string }
  | { readonly kind: 'unreachable'; readonly message: string };

export type CancelAsked = 'asked' | 'unsupported' | 'unreachable';

/** A callback as it came. Header names in lower case. */
export interface RawEvent {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  /** Epoch ms of its arrival. */
  readonly at: number;
}

export type EventRead =
  /** A hint that something happened to this vendor job; what happened is asked. */
  | { readonly kind: 'event'; readonly vendorJobId: string; readonly vendorKey: string | undefined }
  | { readonly kind: 'refused'; readonly reason: 'unsigned' | 'bad_signature' | 'stale' | 'malformed' };

export interface Vendor {
  readonly name: string;
  /** Raised when the adapter's reading of the vendor changes; a job keeps the one that it was submitted with. */
  readonly version: number;
  readonly traits: VendorTraits;
  /** One HTTP request, no retries. */
  submit(submission: Submission): Promise<SubmitOutcome>;
  /** Re-reads the account's secret. True if it differs from the one used before. */
  refreshSecret(): Promise<boolean>;
  ask(vendorJobId: string, signal: AbortSignal): Promise<VendorWord>;
  /** As `ask`, with the key that the job was taken under: for a vendor that repeats it. */
  identify?(vendorJobId: string, signal: AbortSignal): Promise<Identified>;
  /** Words until a terminal one, `gone`, or the signal. A broken stream falls back to polling inside. */
  watch(vendorJobId: string, signal: AbortSignal): AsyncIterable<VendorWord>;
  /** A request, never an outcome. */
  cancel(vendorJobId: string, signal: AbortSignal): Promise<CancelAsked>;
  /** By vendor key: only `replay`, `reject` and `lookup` vendors that can be asked so have it. */
  readonly find: ((vendorKey: string, signal: AbortSignal) => Promise<Found>) | undefined;
  fetchResult(result: VendorResult, signal: AbortSignal): Promise<FetchedResult>;
  /** Verifies the vendor's own signature, where it signs, over the raw body, and its age. */
  readEvent(event: RawEvent): Promise<EventRead>;
}

export interface Vendors {
  /** Undefined: a job names a vendor that this deployment no longer configures. */
  named(name: string): Vendor | undefined;
}
