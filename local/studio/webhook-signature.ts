import { createHmac } from 'node:crypto';

/**
 * The headers of one try to deliver a message, as Standard Webhooks 1.0 writes them: HMAC-SHA256 over
 * `<id>.<timestamp in seconds>.<body>`, keyed with the bytes that follow `whsec_` in base64.
 */
export function webhookHeaders(secret: string, messageId: string, sentAtMs: number, body: string) {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const timestamp = Math.floor(sentAtMs / 1_000);
  const signature = createHmac('sha256', key).update(`${messageId}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': messageId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}
