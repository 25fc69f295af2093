import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from './vendor.ts';

/**
 * The app makes a key when its user acts. The key is the job's identity, so that one conditional put is the whole check;
 * the fingerprint says whether the same key came with the same request.
 */

export type KeyRead =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'malformed' };

const bareKey = /^[\x21-\x7e]{1,255}$/;
/** A structured header's string: https://www.rfc-editor.org/rfc/rfc9651#section-3.3.3 */
const quotedKey = /^"((?:[^"\\]|\\["\\])*)"$/;

/** Quoted, as the IETF draft has it, or bare, as most send it: the same key either way. */
export function readIdempotencyKey(header: string | undefined): KeyRead {
  const sent = header?.trim() ?? '';
  if (sent === '') return { kind: 'missing' };
  const key = sent.startsWith('"') ? quotedKey.exec(sent)?.[1]?.replace(/\\(["\\])/g, '$1') : sent;
  return key !== undefined && bareKey.test(key) ? { kind: 'key', key } : { kind: 'malformed' };
}

/** The owner is part of it: nobody reads another one's job by guessing its key. */
export function jobIdOf(owner: string, key: string): string {
  // Length-prefixed: otherwise an owner that ends as another's key begins would share its jobs.
  const identity = `${Buffer.byteLength(owner)}:${owner}${key}`;
  return `job_${base32(createHash('sha256').update(identity).digest())}`;
}

/** The shape of every job id, for whoever is given one. */
export const jobIdPattern = /^job_[a-z2-7]{52}$/;

/** What can't be the id of a job is not looked for: the store throws for a key that is empty, too long or no Unicode. */
export function mayBeJobId(id: string): boolean {
  return /^[\x21-\x7e]{1,100}$/.test(id);
}

/** What the request said that decides what is bought. Neither metadata nor the upload's id: see `fingerprintOf`. */
export interface Said {
  readonly feature: string;
  /** As sent, without defaults: a later default must not turn an old request into another one. */
  readonly parameters: JsonObject;
  readonly consent: string | undefined;
}

const version = 'v1';

/**
 * The picture counts by its bytes: an app that was killed uploads them again under another id and must find its job.
 * However the request was framed, the fingerprint is the same.
 */
export function fingerprintOf({ feature, parameters, consent }: Said, pictureSha256: string | undefined): string {
  const said = { feature, parameters, consent: consent ?? null, picture: pictureSha256 ?? null };
  return `${version}:${createHash('sha256').update(canonicalJson(said)).digest('hex')}`;
}

/**
 * A fingerprint of a version that this code doesn't know was written by a newer deployment that runs beside it: the key
 * decides alone then, since refusing would deny the app its own job.
 */
export function isSameRequest(stored: string, now: string): boolean {
  return stored === now || !stored.startsWith(`${version}:`);
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** One text per value: members in the order of their names' code units, no white space. */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** RFC 4648 without padding, in lower case: it survives URLs, DNS-like names and case-insensitive file systems. */
function base32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let pending = 0;
  for (const byte of bytes) {
    pending = ((pending << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet.charAt((pending >> bits) & 31);
    }
  }
  return bits === 0 ? text : text + alphabet.charAt((pending << (5 - bits)) & 31);
}
