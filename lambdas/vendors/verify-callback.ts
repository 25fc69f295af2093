import type { Secret, SigningSecret } from '../runtime/secrets.ts';
import { isCallbackToken, type CallbackClaims } from './callback.ts';

export type VerifyCallback = (token: string, claims: CallbackClaims) => Promise<boolean>;

/**
 * Whether a callback URL is ours. A token that doesn't hold is compared once more with the secret as it is now: the URL
 * may have been made after a rotation of which this sandbox has not heard.
 */
export function createVerifyCallback(secret: Secret<SigningSecret>): VerifyCallback {
  return async (token, claims) =>
    isCallbackToken(token, claims, await secret.read()) || isCallbackToken(token, claims, await secret.refresh());
}
