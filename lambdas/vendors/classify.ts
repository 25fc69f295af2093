import type { SubmitOutcome } from '../domain/vendor.ts';
import type { Answered, CallOutcome } from './call.ts';
import { readable } from './readable.ts';
import { retryAfterMs } from './retry-after.ts';

/** What a vendor documents beyond HTTP itself, and how its answers are read. */
export interface SubmitRules {
  /** Statuses that the vendor documents as "not taken" besides 429, such as its 503 for a full queue. */
  readonly notTaken: readonly number[];
  /** Error codes by which the vendor says that it saw this key before. */
  readonly keyReusedCodes: readonly string[];
  /** Error codes with which one of `aboutUs` refuses this very request, and not our account. */
  readonly refusedCodes: readonly string[];
  /** Reads a 2xx; undefined where it can't be read or names no job. */
  readonly readTaken: (answer: Answered) => Extract<SubmitOutcome, { kind: 'accepted' | 'finished' }> | undefined;
  /** Reads the vendor's reason out of a refusal. */
  readonly readReason: (answer: Answered) => VendorReason;
  /** Never repeated in a message. */
  readonly secrets: readonly string[];
}

export interface VendorReason {
  readonly code: string | undefined;
  readonly message: string | undefined;
}

/**
 * What one submit means, by one question: may the vendor have taken it? Only an answer that proves it didn't is anything
 * but `accepted`, `finished` or `unknown`; all that is not listed here is `unknown`.
 */
export function classifySubmit(outcome: CallOutcome, rules: SubmitRules, now: number): SubmitOutcome {
  switch (outcome.kind) {
    case 'not-sent':
      // Only our key can be such a header: a fault of the account's secret, which must not use up what the jobs may be sent.
      if (outcome.cause === 'forbidden_header')
        return { kind: 'account-refused', status: 0, message: 'Our key can not be sent: look at its secret.' };
      return { kind: 'not-sent', cause: outcome.cause, message: readable(outcome.detail, rules.secrets) };
    case 'unknown':
      return {
        kind: 'unknown',
        cause: outcome.cause,
        message: readable(outcome.detail, rules.secrets),
        bodySent: outcome.bodySent,
        keyReused: false,
      };
    case 'answered':
      return classifyAnswer(outcome, rules, now);
  }
}

/** About our account, or about where we send: no job can help it, and a backlog must not fail for it. */
const aboutUs: readonly number[] = [401, 402, 403, 404, 405];

function classifyAnswer(answer: Answered, rules: SubmitRules, now: number): SubmitOutcome {
  const { status } = answer;
  // A 2xx that can't be read was probably taken: it is the one that must never be sent again by guessing.
  if (status >= 200 && status < 300)
    return rules.readTaken(answer) ?? unknownAnswer(answer, rules, 'unreadable_answer');
  const { code } = rules.readReason(answer);
  if (code !== undefined && rules.keyReusedCodes.includes(code)) {
    // The key belongs to an earlier send of ours: neither an error nor a success, whatever its status is.
    return { ...unknownAnswer(answer, rules, 'key_reused'), keyReused: true };
  }
  if (status === 429 || rules.notTaken.includes(status)) {
    const delayMs = retryAfterMs(answer.headers['retry-after'], now);
    return { kind: 'throttled', retryAfterMs: delayMs, message: reasonOf(answer, rules) };
  }
  if (aboutUs.includes(status)) {
    if (code !== undefined && rules.refusedCodes.includes(code)) {
      return { kind: 'refused', status, message: reasonOf(answer, rules) };
    }
    return { kind: 'account-refused', status, message: reasonOf(answer, rules) };
  }
  // 408: the vendor gave up waiting, perhaps after it began. 409: something of this request exists there already.
  if (status >= 400 && status < 500 && status !== 408 && status !== 409) {
    return { kind: 'refused', status, message: reasonOf(answer, rules) };
  }
  return unknownAnswer(answer, rules, `status_${status}`);
}

function unknownAnswer(
  answer: Answered,
  rules: SubmitRules,
  cause: string,
): Extract<SubmitOutcome, { kind: 'unknown' }> {
  return { kind: 'unknown', cause, message: reasonOf(answer, rules), bodySent: true, keyReused: false };
}

function reasonOf(answer: Answered, rules: SubmitRules): string {
  const { code, message } = rules.readReason(answer);
  return readable(message ?? code ?? '', rules.secrets) || `The vendor answered ${answer.status}.`;
}
