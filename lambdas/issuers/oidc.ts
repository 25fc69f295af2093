import { JwtVerifier } from 'aws-jwt-verify';
import {
  FetchError,
  JwksValidationError,
  JwtBaseError,
  JwtExpiredError,
  WaitPeriodNotYetEndedJwkError,
} from 'aws-jwt-verify/error';
import { SimpleJwksCache } from 'aws-jwt-verify/jwk';
import { isUserName, type TokenVerdict, type TokenVerifier } from '../domain/access.ts';
import type { Clock } from '../domain/ports.ts';
import type { IssuerSettings } from '../runtime/env.ts';
import { createDiscoveringFetcher, discoveryUrl } from './oidc-discovery.ts';
import { unverifiedIssuer } from './unverified-issuer.ts';

/** A key that the issuer withdrew stops being good here within the hour. */
const KEYS_KEPT_MS = 60 * 60_000;
const RELOAD_EVERY_MS = 60_000;
/** Clocks of issuers run a little ahead of ours. */
const GRACE_SECONDS = 5;

export interface OidcSettings {
  readonly issuers: readonly IssuerSettings[];
  readonly clock: Clock;
}

/**
 * Bearer tokens of signed-in users, from the issuers of this environment. The user is the claim `sub`, the tenant the
 * claim that the environment names. RS, ES and EdDSA signatures only, by keys that the issuer publishes.
 */
export function createOidcVerifier({ issuers, clock }: OidcSettings): TokenVerifier {
  if (issuers.length === 0) return { verify: () => Promise.resolve({ kind: 'foreign' }) };
  const settingsOf = new Map(issuers.map((settings) => [settings.issuer, settings]));
  const verifier = JwtVerifier.create(
    issuers.map(({ issuer, audience }) => ({
      issuer,
      audience,
      jwksUri: discoveryUrl(issuer),
      graceSeconds: GRACE_SECONDS,
    })),
    { jwksCache: new SimpleJwksCache({ fetcher: createDiscoveringFetcher(issuers) }) },
  );

  let reloadAtMs = clock.now() + KEYS_KEPT_MS;
  const reloadOldKeys = async (): Promise<void> => {
    if (clock.now() < reloadAtMs) return;
    reloadAtMs = clock.now() + RELOAD_EVERY_MS;
    try {
      await verifier.hydrate();
      reloadAtMs = clock.now() + KEYS_KEPT_MS;
    } catch (error) {
      // The keys that we have stay good while the issuer can't be reached: signing everybody out would be no safer.
      if (!(error instanceof JwtBaseError)) throw error;
    }
  };

  return {
    verify: async (token) => {
      const settings = settingsOf.get(unverifiedIssuer(token) ?? '');
      if (settings === undefined) return { kind: 'foreign' };
      try {
        await reloadOldKeys();
        return verdictOn(await verifier.verify(token), settings);
      } catch (error) {
        return verdictOnError(error);
      }
    },
  };
}

function verdictOn(claims: Readonly<Record<string, unknown>>, { tenantClaim }: IssuerSettings): TokenVerdict {
  const { sub: user, [tenantClaim]: tenant } = claims;
  // Both become parts of keys: a claim that is missing or no name can't be an owner.
  if (typeof user !== 'string' || typeof tenant !== 'string') return { kind: 'invalid' };
  if (!isUserName(user) || !isUserName(tenant)) return { kind: 'invalid' };
  return { kind: 'valid', principal: { tenant, user, kind: 'oidc', scopes: ['jobs'] } };
}

function verdictOnError(error: unknown): TokenVerdict {
  if (error instanceof JwtExpiredError) return { kind: 'expired' };
  const keysUnread =
    error instanceof FetchError ||
    error instanceof JwksValidationError ||
    // After an unknown key id the issuer is not asked again for some seconds: the key may be a new one.
    error instanceof WaitPeriodNotYetEndedJwkError;
  if (keysUnread) return { kind: 'undecided', cause: error };
  if (error instanceof JwtBaseError) return { kind: 'invalid' };
  throw error;
}
