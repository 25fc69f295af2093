import { createHash } from 'node:crypto';

/** Who asks, and what they may do: API keys of servers, tokens of signed-in users, single-use tickets for sockets. */

/** `jobs`: submit and read · `operator`: settle flags, change lanes · `tokens`: mint client tokens · `act-for-user`: name a user. */
export const SCOPES = ['jobs', 'operator', 'tokens', 'act-for-user'] as const;
export type Scope = (typeof SCOPES)[number];

/** The user of a server's key that names nobody. No real user may be called so. */
export const SERVER_USER = '-';

export interface Principal {
  readonly tenant: string;
  /** The user acted for, or {@link SERVER_USER}. */
  readonly user: string;
  readonly kind: 'key' | 'client-token' | 'oidc';
  readonly keyId?: string;
  readonly scopes: readonly Scope[];
  /** The only features that this principal may ask for; absent = all. */
  readonly features?: readonly string[];
  /** At most so many unfinished jobs of its user, whoever submitted them; where that is less than the environment's own limit. */
  readonly maxJobs?: number;
}

export interface ApiKey {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAtMs: number;
  /** Moved at most once an hour, so up to an hour behind. */
  readonly lastUsedAtMs?: number;
  readonly revokedAtMs?: number;
}

export type KeyCreation = { readonly kind: 'created' } | { readonly kind: 'already_exists' };

export type KeyRevocation =
  | { readonly kind: 'revoked'; readonly key: ApiKey }
  | { readonly kind: 'already_revoked'; readonly key: ApiKey }
  | { readonly kind: 'not_found' };

export type TicketUse =
  | { readonly kind: 'admitted'; readonly principal: Principal }
  | { readonly kind: 'expired' }
  /** Never issued, or used before: the two can't be told apart. */
  | { readonly kind: 'unknown' };

/** Secrets never reach the store: it knows keys and tickets by the lower-case hex SHA-256 of the whole string. */
export interface AccessStore {
  /** Revoked keys are found too: that they are revoked is the caller's to see. */
  findKey(keySha256: string): Promise<ApiKey | undefined>;
  createKey(keySha256: string, key: ApiKey): Promise<KeyCreation>;
  /** All keys, oldest first. */
  listKeys(): Promise<readonly ApiKey[]>;
  revokeKey(keyId: string, revokedAtMs: number): Promise<KeyRevocation>;
  noteKeyUse(keySha256: string, usedAtMs: number): Promise<void>;
  putTicket(ticketSha256: string, ticket: { principal: Principal; expiresAtMs: number }): Promise<void>;
  /** Consumes the ticket, whatever the answer: of two concurrent uses exactly one is admitted. */
  useTicket(ticketSha256: string, nowMs: number): Promise<TicketUse>;
}

/** What a server grants to one user of its tenant, in a short-lived bearer token. */
export interface ClientTokenGrant {
  readonly tenant: string;
  readonly user: string;
  readonly features?: readonly string[];
  readonly maxJobs?: number;
  /** Within {@link CLIENT_TOKEN_SECONDS}. */
  readonly expiresInSeconds: number;
}

export const CLIENT_TOKEN_SECONDS = { min: 60, max: 86_400 } as const;

export interface ClientTokens {
  mint(grant: ClientTokenGrant): Promise<{ readonly token: string; readonly expiresAtMs: number }>;
}

export type TokenVerdict =
  | { readonly kind: 'valid'; readonly principal: Principal }
  | { readonly kind: 'expired' }
  | { readonly kind: 'invalid' }
  /** It claims to come from somebody else: ask the next verifier. */
  | { readonly kind: 'foreign' }
  /** Its issuer's keys can't be read now, so nothing is known of it. */
  | { readonly kind: 'undecided'; readonly cause: unknown };

export interface TokenVerifier {
  verify(token: string): Promise<TokenVerdict>;
}

/** By which the store knows a key or a ticket: lower-case hex over the whole string. */
export const secretSha256 = (secret: string): string => createHash('sha256').update(secret, 'utf8').digest('hex');

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;

/** `.` and `..` would be resolved away in a URL that holds the owner's name as a segment of its path. */
const RESERVED_USERS: readonly string[] = [SERVER_USER, '.', '..'];

/** 1–128 visible ASCII characters, and not the name that stands for "the server itself", nor one that paths reserve. */
export const isUserName = (user: string): boolean => VISIBLE_ASCII.test(user) && !RESERVED_USERS.includes(user);

export const mayUseFeature = (principal: Principal, feature: string): boolean =>
  principal.features === undefined || principal.features.includes(feature);

/** A server's key that acts for nobody in particular sees every user of its tenant; anyone else sees their own. */
export const maySee = (principal: Principal, owner: { readonly tenant: string; readonly user: string }): boolean =>
  principal.tenant === owner.tenant &&
  (principal.user === owner.user || (principal.kind === 'key' && principal.user === SERVER_USER));
