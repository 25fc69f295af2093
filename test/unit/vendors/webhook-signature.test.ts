import { describe, expect, it } from 'vitest';
import { signWebhook, verifyWebhook } from '../../../lambdas/vendors/webhook-signature.ts';

// The published example of the Standard Webhooks reference libraries.
const published = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: '1614265330',
  body: Buffer.from('{"test": 2432232314}'),
  signature: 'g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};
const now = 1_614_265_330_000;
const headers = (signature = `v1,${published.signature}`) => ({
  'webhook-id': published.id,
  'webhook-timestamp': published.timestamp,
  'webhook-signature': signature,
});
const verify = (given: Record<string, string>, secrets = [published.secret], at = now, body = published.body) =>
  verifyWebhook(given, body, secrets, at);

describe('verifyWebhook', () => {
  it('agrees with the published example', () => {
    const { id, timestamp, body, secret, signature } = published;
    expect(signWebhook(id, timestamp, body, secret)).toBe(signature);
    expect(verify(headers())).toEqual({ kind: 'verified', webhookId: id, sentAt: now });
  });

  it('takes any of several signatures, by any of several secrets', () => {
    expect(verify(headers(`v1a,zzz v1,AAAA v1,${published.signature}`), ['other', published.secret]).kind).toBe(
      'verified',
    );
    expect(verify(headers(), ['other', 'another'])).toEqual({ kind: 'refused', reason: 'signature_wrong' });
    expect(verify(headers(), [])).toEqual({ kind: 'refused', reason: 'signature_wrong' });
  });

  it.each([
    ['another body', headers(), Buffer.from('{"test": 2432232315}')],
    ['another id', { ...headers(), 'webhook-id': 'msg_other' }, published.body],
    ['another time', { ...headers(), 'webhook-timestamp': '1614265331' }, published.body],
    ['another scheme', headers(`v2,${published.signature}`), published.body],
    ['no signature', headers('v1,'), published.body],
  ])('refuses %s', (_what, given, body) => {
    expect(verify(given, [published.secret], now, body)).toEqual({ kind: 'refused', reason: 'signature_wrong' });
  });

  it.each([
    [300_000, 'verified'],
    [300_001, 'refused'],
    [-300_000, 'verified'],
    [-300_001, 'refused'],
  ])('%i ms after it was sent: %s', (afterMs, kind) => {
    expect(verify(headers(), [published.secret], now + afterMs).kind).toBe(kind);
  });

  it('refuses missing headers and times that are no numbers', () => {
    expect(verify({})).toEqual({ kind: 'refused', reason: 'headers_missing' });
    expect(verify({ ...headers(), 'webhook-timestamp': 'now' })).toMatchObject({ reason: 'timestamp_invalid' });
    expect(verify({ ...headers(), 'webhook-timestamp': '-1' })).toMatchObject({ reason: 'timestamp_invalid' });
  });
});
