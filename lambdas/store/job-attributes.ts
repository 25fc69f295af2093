import * as z from 'zod';
import {
  flagCodes,
  ownerOf,
  resultKeyOf,
  tenantOf,
  userOf,
  type JobFields,
  type StoredPicture,
} from '../domain/job.ts';

/**
 * How each field of a job is stored. The item is rewritten, and billed, as a whole by each tick, so that names are short,
 * what is empty is absent, digests are bytes, and what follows from other fields is not stored.
 */

/** What the derived parts of a field are derived from. */
export type Named = Pick<JobFields, 'id' | 'owner' | 'generation'>;

export interface Attribute<V> {
  readonly name: string;
  /** Undefined: the attribute is absent. */
  readonly write: (value: V, of: Named) => unknown;
  /** Throws where the stored value is not what `write` writes. */
  readonly read: (stored: unknown, of: Named) => V;
}

const storedPicture = z.object({
  t: z.string(),
  b: z.number(),
  w: z.number(),
  h: z.number(),
  k: z.string().optional(),
});
const storedInput = z.object({
  t: z.string(),
  b: z.number(),
  w: z.number(),
  h: z.number(),
  u: z.string().optional(),
  s: z.union([z.string(), z.instanceof(Uint8Array)]),
});
const storedProgress = z.object({ p: z.number(), s: z.string().optional(), a: z.number() });
const storedFlag = z.object({ c: z.enum(flagCodes), s: z.number() });
const storedFailure = z.object({ c: z.string(), m: z.string() });
// Made once: zod takes longer to make a schema than to parse with it, and each read of a job parses some forty fields.
const aNumber = z.number();
const maybeNumber = aNumber.optional();
const aText = z.string();
const maybeText = aText.optional();
const maybeTrue = z.literal(true).optional();
const texts = z.set(aText);
const storedPictures = z.array(storedPicture);

export const jobAttributes: { readonly [F in Exclude<keyof JobFields, 'id'>]: Attribute<JobFields[F]> } = {
  owner: { name: 'owner', write: storedOwner, read: (stored) => readOwner(aText.parse(stored)) },
  createdAt: number('createdAt'),
  rank: number('rank'),
  checkAt: number('checkAt'),
  ttl: optionalNumber('ttl'),

  feature: text('fe'),
  vendor: text('ve'),
  adapterVersion: number('av'),
  lane: text('la'),
  fingerprint: { name: 'fp', write: writeFingerprint, read: readFingerprint },
  submitToken: text('st'),
  maxQueueMs: number('mq'),
  maxRunMs: number('mr'),
  picture: {
    name: 'pi',
    write: (picture) =>
      picture && {
        t: picture.contentType,
        b: picture.bytes,
        w: picture.width,
        h: picture.height,
        u: picture.uploadId,
        s: writeDigest(picture.sha256),
      },
    read: (stored) => {
      if (stored === undefined) return undefined;
      const { t, b, w, h, u, s } = storedInput.parse(stored);
      return { contentType: t, bytes: b, width: w, height: h, uploadId: u, sha256: readDigest(s) };
    },
  },

  version: number('v'),
  attempt: number('a'),
  generation: number('g'),
  queuedAt: number('qa'),
  laneClosedMs: numberOrZero('lc'),
  hold: {
    name: 'ho',
    write: (hold) => hold?.token,
    read: (stored) => (stored === undefined ? undefined : { token: aText.parse(stored) }),
  },
  claimToken: optionalText('ct'),
  sendBy: optionalNumber('sb'),
  dispatchBy: optionalNumber('db'),
  sends: numberOrZero('sn'),
  tries: numberOrZero('tr'),
  firstTriedAt: optionalNumber('ft'),
  maybeSent: {
    name: 'ms',
    write: (maybeSent) => maybeSent || undefined,
    read: (stored) => maybeTrue.parse(stored) ?? false,
  },
  vendorJobId: optionalText('vj'),
  runUntil: optionalNumber('ru'),
  watchUntil: optionalNumber('wu'),
  startedAt: optionalNumber('sa'),
  progress: {
    name: 'pr',
    write: (progress) => progress && { p: progress.percent, s: progress.stage, a: progress.at },
    read: (stored) => {
      if (stored === undefined) return undefined;
      const { p, s, a } = storedProgress.parse(stored);
      return { percent: p, stage: s, at: a };
    },
  },
  cancelRequestedAt: optionalNumber('cr'),
  flag: {
    name: 'fl',
    write: (flag) => flag && { c: flag.code, s: flag.since },
    read: (stored) => {
      if (stored === undefined) return undefined;
      const { c, s } = storedFlag.parse(stored);
      return { code: c, since: s };
    },
  },
  results: { name: 're', write: writeResults, read: readResults },
  failure: {
    name: 'fa',
    write: (failure) => failure && { c: failure.code, m: failure.message },
    read: (stored) => {
      if (stored === undefined) return undefined;
      const { c, m } = storedFailure.parse(stored);
      return { code: c, message: m };
    },
  },
  finishedAt: optionalNumber('fi'),
  announce: optionalNumber('an'),
  followers: {
    name: 'fo',
    // A set: it is what makes following twice, and unfollowing what isn't there, harmless in one update.
    write: (followers) => (followers.length === 0 ? undefined : new Set(followers)),
    read: (stored) => (stored === undefined ? [] : [...texts.parse(stored)]),
  },
};

/** What divides the two parts, and what escapes it. */
const RESERVED = /[%/]/g;

/** The index key. The domain's form escapes much more, and can grow threefold. */
export function storedOwner(owner: string): string {
  return [tenantOf(owner), userOf(owner)].map((part) => part.replace(RESERVED, encodeURIComponent)).join('/');
}

export function readOwner(stored: string): string {
  return ownerOf(tenantOf(stored), userOf(stored));
}

function number(name: string): Attribute<number> {
  return { name, write: (value) => value, read: (stored) => aNumber.parse(stored) };
}

function numberOrZero(name: string): Attribute<number> {
  return { name, write: (value) => value || undefined, read: (stored) => maybeNumber.parse(stored) ?? 0 };
}

function optionalNumber(name: string): Attribute<number | undefined> {
  return { name, write: (value) => value, read: (stored) => maybeNumber.parse(stored) };
}

function text(name: string): Attribute<string> {
  return { name, write: (value) => value, read: (stored) => aText.parse(stored) };
}

function optionalText(name: string): Attribute<string | undefined> {
  return { name, write: (value) => value, read: (stored) => maybeText.parse(stored) };
}

const SHA256_HEX = /^[0-9a-f]{64}$/;

/** Half as long as its hex form. */
function writeDigest(hex: string): string | Uint8Array {
  return SHA256_HEX.test(hex) ? Buffer.from(hex, 'hex') : hex;
}

function readDigest(stored: string | Uint8Array): string {
  return typeof stored === 'string' ? stored : Buffer.from(stored).toString('hex');
}

const PRESENT_SCHEME = 'v1:';

/** A fingerprint of another scheme is kept as it is written. */
function writeFingerprint(fingerprint: string): string | Uint8Array {
  const digest = fingerprint.startsWith(PRESENT_SCHEME)
    ? writeDigest(fingerprint.slice(PRESENT_SCHEME.length))
    : fingerprint;
  return typeof digest === 'string' ? fingerprint : digest;
}

function readFingerprint(stored: unknown): string {
  if (stored instanceof Uint8Array) return `${PRESENT_SCHEME}${readDigest(stored)}`;
  return aText.parse(stored);
}

function writeResults(results: readonly StoredPicture[], of: Named): unknown {
  if (results.length === 0) return undefined;
  return results.map(({ key, contentType, bytes, width, height }, index) => ({
    t: contentType,
    b: bytes,
    w: width,
    h: height,
    ...(key === resultKeyOf(of, index) ? {} : { k: key }),
  }));
}

function readResults(stored: unknown, of: Named): readonly StoredPicture[] {
  if (stored === undefined) return [];
  return storedPictures.parse(stored).map(({ t, b, w, h, k }, index) => ({
    key: k ?? resultKeyOf(of, index),
    contentType: t,
    bytes: b,
    width: w,
    height: h,
  }));
}
