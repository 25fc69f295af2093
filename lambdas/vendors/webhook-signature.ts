import { createHmac, timingSafeEqual } from 'node:crypto';

/** How far a webhook's own timestamp may be from our clock, either way (Standard Webhooks: five minutes). */
export const webhookToleranceMs = 300_000;

export type WebhookVerdict =
  | { readonly kind: 'verified'; readonly webhookId: string; readonly sentAt: number }
  | {
      readonly kind: 'refused';
      readonly reason: 'headers_missing' | 'timestamp_invalid' | 'too_old' | 'signature_wrong';
    };

/**
 * Verifies a Standard Webhooks signature (webhook-id, webhook-timestamp, webhook-signature; HMAC-SHA256) over the raw
 * body. Any of `secrets` may have signed it, so that one can be rotated. A secret is `whsec_` and base64, or, without
 * that prefix, its own UTF-8 bytes. Header names are in lower case. Source: the Standard Webhooks specification.
 */
export function verifyWebhook(
  headers: Readonly<Record<string, string | undefined>>,
  rawBody: Uint8Array,
  secrets: readonly string[],
  now: number,
): WebhookVerdict {
  const webhookId = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signatures = headers['webhook-signature'];
  if (!webhookId || !timestamp || !signatures) return refused('headers_missing');
  if (!/^\d{1,12}$/.test(timestamp)) return refused('timestamp_invalid');
  const sentAt = Number(timestamp) * 1_000;
  if (Math.abs(now - sentAt) > webhookToleranceMs) return refused('too_old');
  const given = signatures.split(' ').flatMap((part) => (part.startsWith('v1,') ? [Buffer.from(part.slice(3))] : []));
  const expected = secrets.map((secret) => Buffer.from(signWebhook(webhookId, timestamp, rawBody, secret)));
  const isSigned = given.some((left) => expected.some((right) => isEqual(left, right)));
  return isSigned ? { kind: 'verified', webhookId, sentAt } : refused('signature_wrong');
}

/** The base64 signature of one webhook, without its `v1,`. */
export function signWebhook(webhookId: string, timestamp: string, rawBody: Uint8Array, secret: string): string {
  const hmac = createHmac('sha256', keyOf(secret));
  return hmac.update(`${webhookId}.${timestamp}.`).update(rawBody).digest('base64');
}

function keyOf(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
}

function isEqual(left: Buffer, right: Buffer): boolean {
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
}

function refused(reason: Extract<WebhookVerdict, { kind: 'refused' }>['reason']): WebhookVerdict {
  return { kind: 'refused', reason };
}
