import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SigningSecret } from '../runtime/secrets.ts';

/** What a callback URL vouches for: that we asked this vendor to tell us about this generation of this job. */
export interface CallbackClaims {
  readonly vendor: string;
  readonly jobId: string;
  readonly generation: number;
}

/** The URL that a vendor calls: `…/api/v1/vendor-events/{vendor}/{jobId}/{generation}/{token}`. */
export function callbackUrl(publicUrl: string, claims: CallbackClaims, secret: SigningSecret): string {
  const path = [claims.vendor, claims.jobId, String(claims.generation), tokenOf(claims, secret.current)];
  return `${publicUrl}/api/v1/vendor-events/${path.map(encodeURIComponent).join('/')}`;
}

/** True iff `token` is ours for exactly these claims, under the current secret, or the previous one: jobs sent before a rotation are heard. */
export function isCallbackToken(token: string, claims: CallbackClaims, secret: SigningSecret): boolean {
  const secrets = secret.previous === undefined ? [secret.current] : [secret.current, secret.previous];
  return secrets.some((key) => isEqual(token, tokenOf(claims, key)));
}

// The prefix keeps these tokens apart from everything else that the same secret signs.
function tokenOf({ vendor, jobId, generation }: CallbackClaims, key: string): string {
  const signed = JSON.stringify(['slowlane vendor callback v1', vendor, jobId, generation]);
  return createHmac('sha256', key).update(signed).digest('base64url');
}

function isEqual(given: string, expected: string): boolean {
  const left = Buffer.from(given);
  const right = Buffer.from(expected);
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
}
