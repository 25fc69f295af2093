import { describe, expect, it } from 'vitest';
import { callbackUrl, isCallbackToken, type CallbackClaims } from '../../../lambdas/vendors/callback.ts';

const claims: CallbackClaims = { vendor: 'studio', jobId: 'job_abc', generation: 2 };
const secret = { current: 'the current signing secret' };
const tokenOf = (url: string): string => url.split('/').at(-1) ?? '';

describe('callback URLs', () => {
  it('say vendor, job and generation, and end with a token that needs no escaping', () => {
    const url = callbackUrl('https://gateway.example', claims, secret);
    expect(url).toMatch(/^https:\/\/gateway\.example\/api\/v1\/vendor-events\/studio\/job_abc\/2\/[\w-]{43}$/);
    expect(isCallbackToken(tokenOf(url), claims, secret)).toBe(true);
  });

  it('vouch for exactly one generation of one job at one vendor', () => {
    const token = tokenOf(callbackUrl('https://g.example', claims, secret));
    for (const other of [
      { ...claims, vendor: 'studio-blind' },
      { ...claims, jobId: 'job_abd' },
      { ...claims, generation: 3 },
    ]) {
      expect(isCallbackToken(token, other, secret)).toBe(false);
    }
    for (const forged of ['', token.slice(1), `${token}A`, token.toLowerCase(), 'ü'.repeat(43)]) {
      expect(isCallbackToken(forged, claims, secret)).toBe(false);
    }
  });

  it('outlive one rotation of the signing secret', () => {
    const token = tokenOf(callbackUrl('https://g.example', claims, secret));
    expect(isCallbackToken(token, claims, { current: 'a new secret', previous: secret.current })).toBe(true);
    expect(isCallbackToken(token, claims, { current: 'a newer one', previous: 'a new secret' })).toBe(false);
  });
});
