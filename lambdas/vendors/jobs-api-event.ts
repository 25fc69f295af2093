import type { EventRead, RawEvent } from '../domain/vendor.ts';
import { readEventJob } from './jobs-api-answer.ts';
import { verifyWebhook, type WebhookVerdict } from './webhook-signature.ts';

/**
 * Reads a callback. Where webhook secrets are configured the vendor signs, and nothing unsigned counts; where none is,
 * the token in the callback URL is all that vouches for it, which is enough for a hint.
 */
export function readJobEvent({ headers, body, at }: RawEvent, secrets: readonly string[]): EventRead {
  if (secrets.length > 0) {
    const verdict = verifyWebhook(headers, body, secrets, at);
    if (verdict.kind === 'refused') return { kind: 'refused', reason: reasonOf(verdict) };
  }
  const job = readEventJob(Buffer.from(body).toString('utf8'));
  if (!job) return { kind: 'refused', reason: 'malformed' };
  return { kind: 'event', vendorJobId: job.id, vendorKey: job.key ?? undefined };
}

function reasonOf({
  reason,
}: Extract<WebhookVerdict, { kind: 'refused' }>): Extract<EventRead, { kind: 'refused' }>['reason'] {
  switch (reason) {
    case 'headers_missing':
      return 'unsigned';
    case 'timestamp_invalid':
      return 'malformed';
    case 'too_old':
      return 'stale';
    case 'signature_wrong':
      return 'bad_signature';
  }
}
