import type { Failure, FlagCode, Job } from './job.ts';
import { clockSkewMs, sendLeadMs } from './timing.ts';
import type { SubmitOutcome, VendorResult, VendorTraits } from './vendor.ts';

/**
 * What the answer to a send means for the job. Never pay twice by guessing: a send that may have been taken never leads
 * back to the queue and never frees a hold by itself, and a definite answer to a second send says nothing of the first.
 */
export type AfterSend =
  | { readonly do: 'accept'; readonly vendorJobId: string }
  | { readonly do: 'finish'; readonly vendorJobId: string | undefined; readonly result: VendorResult }
  | { readonly do: 'refuse'; readonly failure: Failure }
  /** Proven not taken. `trip`: the answer was about our account, so the lane closes first. */
  | { readonly do: 'release'; readonly delayMs: number; readonly trip: string | undefined }
  /** Proven not taken, and the sends are spent. */
  | { readonly do: 'spend'; readonly failure: Failure }
  /** An earlier send is unknown: this one proves nothing, and the job stays as it is until a retake. */
  | { readonly do: 'keep'; readonly delayMs: number; readonly trip: string | undefined }
  | { readonly do: 'retake' }
  /** The vendor can be asked for our key. */
  | { readonly do: 'look_up' }
  | { readonly do: 'flag'; readonly code: FlagCode };

const backOffBaseMs = 2_000;
const backOffMostMs = 120_000;

/** Doubles per send. Deterministic: the lane's cap already spreads the sends. */
export function backOffMs(tries: number): number {
  return Math.min(backOffMostMs, backOffBaseMs * 2 ** Math.max(0, tries - 1));
}

export function afterSend(
  job: Job<'dispatching'>,
  outcome: SubmitOutcome,
  traits: VendorTraits,
  now: number,
): AfterSend {
  switch (outcome.kind) {
    case 'accepted':
      return { do: 'accept', vendorJobId: outcome.vendorJobId };
    case 'finished':
      return { do: 'finish', vendorJobId: outcome.vendorJobId, result: outcome.result };
    case 'refused':
      return isOnlySend(job)
        ? { do: 'refuse', failure: { code: 'refused_by_vendor', message: outcome.message } }
        : { do: 'flag', code: 'unknown_send' };
    case 'account-refused':
      return notTaken(job, traits, now, backOffMs(job.tries), outcome.message);
    case 'throttled':
      // Never sooner than our own back-off: "again in a second", said for minutes, must not use up what a job may be sent.
      return notTaken(job, traits, now, Math.max(outcome.retryAfterMs ?? 0, backOffMs(job.tries)), undefined);
    case 'not-sent':
      return notTaken(job, traits, now, backOffMs(job.tries), undefined);
    case 'unknown':
      return afterUnknown(job, traits, now);
    default:
      return outcome satisfies never;
  }
}

/** A send whose answer nobody has: lost with its worker, or unreadable. The request may have left. */
export function afterUnknown(job: Job<'dispatching'>, traits: VendorTraits, now: number): AfterSend {
  switch (traits.dedupe) {
    case 'replay':
      return mayRetake(job, traits, now) ? { do: 'retake' } : { do: 'flag', code: 'unknown_send' };
    case 'reject':
    case 'lookup':
      return { do: 'look_up' };
    case 'inflight':
    case 'none':
      return { do: 'flag', code: 'unknown_send' };
    default:
      return traits.dedupe satisfies never;
  }
}

/** The same key again is safe only while the vendor is sure to know it, and while its owner still wants the picture. */
export function mayRetake(job: Job, traits: VendorTraits, now: number): boolean {
  return canReplay(job, traits, now) && (isOrdered(job) || !isSpent(job, traits, now));
}

/** Whether a send that is claimed now would, however late it starts and arrives, find the vendor knowing the key. */
export function canReplay(job: Job, traits: VendorTraits, now: number): boolean {
  if (traits.dedupe !== 'replay' || job.cancelRequestedAt !== undefined) return false;
  const sinceFirstMs = now - (job.firstTriedAt ?? now);
  return sinceFirstMs + sendLeadMs + traits.sendTimeoutMs + clockSkewMs < traits.dedupeMs;
}

/**
 * A person's order to send once more, beyond the budget that parked it: only the order writes both deadlines as one
 * moment, and the send that follows it writes its own.
 */
function isOrdered(job: Job): boolean {
  return job.sendBy !== undefined && job.sendBy === job.dispatchBy;
}

export function isSpent(job: Job, traits: VendorTraits, now: number): boolean {
  return job.tries >= traits.maxSends || now - (job.firstTriedAt ?? now) >= traits.sendWindowMs;
}

/**
 * From when on it can't be running at the vendor, whatever became of the last send: undefined where the vendor can't
 * say how long it may keep a request. A person may know better.
 */
export function cantBeRunningFrom(job: Job, traits: VendorTraits): number | undefined {
  if (traits.maxLifeMs === undefined) return undefined;
  const lastSendBy = latestSendOf(job);
  return lastSendBy + traits.sendTimeoutMs + traits.maxLifeMs + clockSkewMs;
}

/**
 * No send started later. A job that was restored from a backup doesn't know its own: it was before the table was marked,
 * no worker running by then.
 */
function latestSendOf(job: Job): number {
  const known = job.sendBy ?? job.startedAt ?? job.createdAt;
  return job.flag?.code === 'restored' ? Math.max(known, job.flag.since) : known;
}

/** From when on a look-up that finds nothing would have found it. */
export function quarantineEnd(job: Job, traits: VendorTraits): number {
  return latestSendOf(job) + traits.sendTimeoutMs + traits.listingLagMs + clockSkewMs;
}

function isOnlySend(job: Job): boolean {
  return job.sends === 1 && !job.maybeSent;
}

function notTaken(
  job: Job<'dispatching'>,
  traits: VendorTraits,
  now: number,
  delayMs: number,
  trip: string | undefined,
): AfterSend {
  const spent = trip === undefined && isSpent(job, traits, now);
  if (job.maybeSent) {
    return spent ? { do: 'flag', code: 'unknown_send' } : { do: 'keep', delayMs, trip };
  }
  if (spent) {
    const message = 'The picture service was not able to take this job. Nothing was charged.';
    return { do: 'spend', failure: { code: 'sends_spent', message } };
  }
  return { do: 'release', delayMs, trip };
}
