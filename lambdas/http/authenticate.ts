import {
  isUserName,
  secretSha256,
  SERVER_USER,
  type AccessStore,
  type ApiKey,
  type Principal,
  type Scope,
  type TokenVerifier,
} from '../domain/access.ts';
import type { Clock } from '../domain/ports.ts';
import type { Log } from '../runtime/log.ts';
import type { ProblemCode } from './problem.ts';

export type AuthenticationRefusal = Extract<
  ProblemCode,
  | 'credentials_missing'
  | 'credentials_invalid'
  | 'credentials_expired'
  | 'credentials_ambiguous'
  | 'issuer_unreachable'
  | 'forbidden'
  | 'user_header_invalid'
>;

export type Authentication =
  | { readonly kind: 'principal'; readonly principal: Principal }
  | {
      readonly kind: 'refused';
      readonly code: AuthenticationRefusal;
      readonly detail?: string;
      readonly retryAfterSeconds?: number;
    };

/** The part of an API Gateway request that says who asks. Its header names are lower-case. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export interface Authenticator {
  /** @param scope what the route needs. */
  authenticate(request: Credentials, scope: Scope): Promise<Authentication>;
}

export interface AuthenticatorSettings {
  readonly access: Pick<AccessStore, 'findKey' | 'noteKeyUse'>;
  /** Asked in turn, until one knows the token's issuer. */
  readonly tokens: readonly TokenVerifier[];
  readonly clock: Clock;
  readonly log: Log;
}

/** A revoked key stops working within this time, and a busy key costs two reads a minute. */
const KEY_REMEMBERED_MS = 30_000;
const KEYS_REMEMBERED = 1_000;
const USE_NOTED_EVERY_MS = 60 * 60_000;
const ISSUER_RETRY_SECONDS = 10;

const refused = (code: AuthenticationRefusal, detail?: string): Authentication =>
  detail === undefined ? { kind: 'refused', code } : { kind: 'refused', code, detail };

/** Remembers keys for a moment, so make one for each sandbox and not for each request. */
export function createAuthenticator({ access, tokens, clock, log }: AuthenticatorSettings): Authenticator {
  const remembered = new Map<string, { readonly key: ApiKey; readonly readAtMs: number }>();

  const findKey = async (keySha256: string): Promise<ApiKey | undefined> => {
    const known = remembered.get(keySha256);
    if (known && clock.now() - known.readAtMs < KEY_REMEMBERED_MS) return known.key;
    remembered.delete(keySha256);
    const readAtMs = clock.now();
    const key = await access.findKey(keySha256);
    if (key === undefined || key.revokedAtMs !== undefined) return undefined;
    const [oldest] = remembered.keys();
    if (remembered.size >= KEYS_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    remembered.set(keySha256, { key, readAtMs });
    return key;
  };

  /** When a key was last used is for people to read: it must not cost anybody their request. */
  const noteUse = async (keySha256: string, key: ApiKey): Promise<void> => {
    const nowMs = clock.now();
    if (nowMs - (key.lastUsedAtMs ?? 0) < USE_NOTED_EVERY_MS) return;
    remembered.set(keySha256, {
      key: { ...key, lastUsedAtMs: nowMs },
      readAtMs: remembered.get(keySha256)?.readAtMs ?? nowMs,
    });
    try {
      await access.noteKeyUse(keySha256, nowMs);
    } catch (error) {
      log.write('key_use_not_noted', { keyId: key.id, error });
    }
  };

  const byKey = async (secret: string, actFor: string | undefined): Promise<Authentication> => {
    const keySha256 = secretSha256(secret);
    const key = await findKey(keySha256);
    if (key === undefined) return refused('credentials_invalid');
    if (actFor !== undefined) {
      if (!key.scopes.includes('act-for-user')) return refused('forbidden', 'This key may not act for a user.');
      if (!isUserName(actFor)) return refused('user_header_invalid');
    }
    await noteUse(keySha256, key);
    const { id: keyId, tenant, scopes } = key;
    return { kind: 'principal', principal: { kind: 'key', keyId, tenant, user: actFor ?? SERVER_USER, scopes } };
  };

  const byToken = async (token: string, actFor: string | undefined): Promise<Authentication> => {
    for (const verifier of tokens) {
      const verdict = await verifier.verify(token);
      switch (verdict.kind) {
        case 'foreign':
          continue;
        case 'invalid':
          return refused('credentials_invalid');
        case 'expired':
          return refused('credentials_expired');
        case 'undecided':
          log.write('issuer_unreachable', { error: verdict.cause });
          return { kind: 'refused', code: 'issuer_unreachable', retryAfterSeconds: ISSUER_RETRY_SECONDS };
        case 'valid':
          if (actFor === undefined || actFor === verdict.principal.user) return { ...verdict, kind: 'principal' };
          return refused('forbidden', "A user's token acts for that user only.");
      }
    }
    return refused('credentials_invalid');
  };

  const identify = ({ headers }: Credentials): Promise<Authentication> | Authentication => {
    const apiKey = headers['x-api-key'];
    const authorization = headers['authorization'];
    const actFor = headers['slowlane-user'];
    if (apiKey !== undefined && authorization !== undefined) return refused('credentials_ambiguous');
    if (apiKey !== undefined) return byKey(apiKey, actFor);
    if (authorization === undefined) return refused('credentials_missing');
    const token = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+) *$/i.exec(authorization)?.[1];
    return token === undefined ? refused('credentials_invalid') : byToken(token, actFor);
  };

  return {
    authenticate: async (request, scope) => {
      const identified = await identify(request);
      if (identified.kind === 'refused' || identified.principal.scopes.includes(scope)) return identified;
      return refused('forbidden', `The scope \`${scope}\` is needed.`);
    },
  };
}
