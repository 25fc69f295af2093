import type { FetchedResult, VendorResult } from '../domain/vendor.ts';
import { callOnce, type CallContext, type CallOutcome } from './call.ts';
import { admit } from './network.ts';
import { pictureKind } from './picture-kind.ts';
import { readable } from './readable.ts';

export interface ResultRules {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Shown to the vendor's own origin, and to no other host. */
  readonly keyHeaders: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

type Fetching = FetchedResult | { readonly kind: 'key-refused'; readonly message: string };

/**
 * Fetches a finished picture from where the vendor says that it is: one GET, redirects not followed, only from hosts
 * that the operator configured. `key-refused` comes from the vendor's own origin only, where another key may help.
 */
export async function fetchPicture(result: VendorResult, rules: ResultRules, context: CallContext): Promise<Fetching> {
  if (result.kind === 'bytes') return asPicture(result.bytes, rules.maxBytes);
  const { baseUrl } = context.network;
  if (!URL.canParse(result.url, baseUrl.href)) return lost('the address of the picture can not be read');
  const url = new URL(result.url, baseUrl);
  const admission = admit(url, context.network);
  if (admission.kind === 'refused') return lost(admission.detail);
  const { timeoutMs, maxBytes, signal } = rules;
  const headers = admission.isVendor ? rules.keyHeaders : {};
  const outcome = await callOnce({ method: 'GET', url, headers, timeoutMs, maxBytes, signal }, context);
  return fetched(outcome, maxBytes, admission.isVendor);
}

function fetched(outcome: CallOutcome, maxBytes: number, isVendor: boolean): Fetching {
  switch (outcome.kind) {
    case 'not-sent':
      return outcome.cause === 'forbidden_address' ? lost(outcome.detail) : unreachable(outcome.detail);
    case 'unknown':
      // Fetching is free and changes nothing at the vendor: it may simply be tried again.
      return outcome.cause === 'too_large' ? lost(outcome.detail) : unreachable(outcome.detail);
    case 'answered':
      break;
  }
  const { status, body } = outcome;
  if (status === 200) return asPicture(body, maxBytes);
  if (isVendor && (status === 401 || status === 403)) {
    return { kind: 'key-refused', message: `the vendor answered ${status}` };
  }
  const mayChange = status === 408 || status === 425 || status === 429 || status >= 500 || status < 300;
  return mayChange ? unreachable(`the vendor answered ${status}`) : lost(`the vendor answered ${status}`);
}

function asPicture(bytes: Uint8Array, maxBytes: number): FetchedResult {
  if (bytes.byteLength > maxBytes) return lost(`the picture is over ${maxBytes} bytes`);
  const contentType = pictureKind(bytes);
  if (contentType === undefined) return lost(`${bytes.byteLength} bytes that are no picture`);
  return { kind: 'fetched', bytes, contentType };
}

function lost(message: string): FetchedResult {
  return { kind: 'lost', message: readable(message) };
}

function unreachable(message: string): FetchedResult {
  return { kind: 'unreachable', message: readable(message) };
}
