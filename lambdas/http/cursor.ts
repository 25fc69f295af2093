import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret, SigningSecret } from '../runtime/secrets.ts';

/**
 * A cursor says where the index goes on, so it is signed: for the list and the filter that it came from, and nothing else.
 * It is opaque to the caller, and not secret.
 */
export interface Cursors {
  sign(next: string, purpose: string): Promise<string>;
  /** Undefined: forged, mangled, or of another list. */
  read(cursor: string, purpose: string): Promise<string | undefined>;
}

export function createCursors(secret: Secret<SigningSecret>): Cursors {
  return {
    sign: async (next, purpose) => {
      const { current } = await secret.read();
      return `${Buffer.from(next, 'utf8').toString('base64url')}.${signature(current, next, purpose)}`;
    },
    read: async (cursor, purpose) => {
      const [text = '', signed = '', ...rest] = cursor.split('.');
      if (rest.length > 0) return undefined;
      const next = Buffer.from(text, 'base64url').toString('utf8');
      const { current, previous } = await secret.read();
      const keys = previous === undefined ? [current] : [current, previous];
      return keys.some((key) => isSame(signed, signature(key, next, purpose))) ? next : undefined;
    },
  };
}

function signature(secret: string, next: string, purpose: string): string {
  // A key of its own: no other thing that the same secret signs can pass as a cursor.
  const key = createHmac('sha256', secret).update('slowlane/cursor/v1').digest();
  return createHmac('sha256', key)
    .update(JSON.stringify([purpose, next]))
    .digest('base64url');
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
