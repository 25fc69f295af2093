import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import {
  CLIENT_TOKEN_SECONDS,
  isUserName,
  type ClientTokenGrant,
  type ClientTokens,
  type TokenVerdict,
  type TokenVerifier,
} from '../domain/access.ts';
import type { Clock } from '../domain/ports.ts';
import type { Secret, SigningSecret } from '../runtime/secrets.ts';
import { unverifiedIssuer } from './unverified-issuer.ts';

/** Both the issuer and the audience of our own tokens. */
const SLOWLANE = 'slowlane';
/** The signing secret signs other things too; a key of its own keeps one kind of signature from passing as another. */
const KEY_PURPOSE = 'slowlane/client-token/v1';

const headerSchema = z.object({ alg: z.literal('HS256'), typ: z.literal('JWT'), kid: z.string() });
const claimsSchema = z.object({
  iss: z.literal(SLOWLANE),
  aud: z.literal(SLOWLANE),
  sub: z.string().refine(isUserName),
  tenant: z.string().min(1),
  features: z.array(z.string()).exactOptional(),
  maxJobs: z.int().positive().exactOptional(),
  iat: z.int(),
  exp: z.int(),
});

interface SigningKey {
  readonly kid: string;
  readonly key: Buffer;
}

/**
 * A key is named by its own fingerprint: were it named `current`, a rotation would change which key the name means while
 * tokens that bear it are still out.
 */
function signingKey(secret: string): SigningKey {
  const key = createHmac('sha256', secret).update(KEY_PURPOSE).digest();
  return { kid: createHash('sha256').update(key).digest('base64url').slice(0, 12), key };
}

const keysOf = ({ current, previous }: SigningSecret): SigningKey[] =>
  [current, ...(previous === undefined ? [] : [previous])].map(signingKey);

const encodePart = (part: object): string => Buffer.from(JSON.stringify(part), 'utf8').toString('base64url');
const signatureOf = (signed: string, { key }: SigningKey): string =>
  createHmac('sha256', key).update(signed).digest('base64url');

function decodePart(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

function sameText(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

export interface ClientTokenSettings {
  readonly secret: Secret<SigningSecret>;
  readonly clock: Clock;
}

/** Short-lived bearer tokens for one user, HS256, minted by a server that holds the scope `tokens`. */
export function createClientTokens({ secret, clock }: ClientTokenSettings): ClientTokens & TokenVerifier {
  /** A key that we don't know may be the newest, which another sandbox read before us. */
  const findKey = async (kid: string): Promise<SigningKey | undefined> => {
    const named = (key: SigningKey): boolean => key.kid === kid;
    return keysOf(await secret.read()).find(named) ?? keysOf(await secret.refresh()).find(named);
  };

  return {
    mint: async (grant) => {
      assertGrantable(grant);
      const [newest] = keysOf(await secret.read());
      if (newest === undefined) throw new Error('The signing secret holds no key');
      const issuedAt = Math.floor(clock.now() / 1000);
      const expiresAt = issuedAt + grant.expiresInSeconds;
      const claims: z.infer<typeof claimsSchema> = {
        iss: SLOWLANE,
        aud: SLOWLANE,
        sub: grant.user,
        tenant: grant.tenant,
        ...(grant.features === undefined ? {} : { features: [...grant.features] }),
        ...(grant.maxJobs === undefined ? {} : { maxJobs: grant.maxJobs }),
        iat: issuedAt,
        exp: expiresAt,
      };
      const signed = `${encodePart({ alg: 'HS256', typ: 'JWT', kid: newest.kid })}.${encodePart(claims)}`;
      return { token: `${signed}.${signatureOf(signed, newest)}`, expiresAtMs: expiresAt * 1000 };
    },

    verify: async (token) => {
      if (unverifiedIssuer(token) !== SLOWLANE) return { kind: 'foreign' };
      const [header = '', payload = '', signature = ''] = token.split('.');
      // Before any key is chosen: nothing but HS256 is ever looked at, whatever the header asks for.
      const head = headerSchema.safeParse(decodePart(header));
      const key = head.success ? await findKey(head.data.kid) : undefined;
      if (key === undefined || !sameText(signature, signatureOf(`${header}.${payload}`, key))) {
        return { kind: 'invalid' };
      }
      return verdictOn(decodePart(payload), clock.now());
    },
  };
}

function verdictOn(payload: unknown, nowMs: number): TokenVerdict {
  const claims = claimsSchema.safeParse(payload);
  if (!claims.success || claims.data.exp - claims.data.iat > CLIENT_TOKEN_SECONDS.max) return { kind: 'invalid' };
  const { sub: user, tenant, features, maxJobs, exp } = claims.data;
  if (nowMs >= exp * 1000) return { kind: 'expired' };
  const limits = { ...(features === undefined ? {} : { features }), ...(maxJobs === undefined ? {} : { maxJobs }) };
  return { kind: 'valid', principal: { tenant, user, kind: 'client-token', scopes: ['jobs'], ...limits } };
}

/** @throws Error where the route let through what it should have refused. */
function assertGrantable({ user, expiresInSeconds, maxJobs = 1 }: ClientTokenGrant): void {
  const { min, max } = CLIENT_TOKEN_SECONDS;
  const inTime = Number.isInteger(expiresInSeconds) && expiresInSeconds >= min && expiresInSeconds <= max;
  if (!isUserName(user) || !inTime || !Number.isInteger(maxJobs) || maxJobs < 1) {
    throw new Error('A client token was asked for that no verifier would accept');
  }
}
