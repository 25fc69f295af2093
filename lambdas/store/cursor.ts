import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';

/** Where a page ended, as opaque text. It holds keys, so whoever hands it out signs or encrypts it. */

const startKey = z.record(z.string(), z.union([z.strictObject({ S: z.string() }), z.strictObject({ N: z.string() })]));

export function cursorOf(lastKey: Record<string, AttributeValue> | undefined): string | undefined {
  return lastKey === undefined ? undefined : Buffer.from(JSON.stringify(lastKey)).toString('base64url');
}

/** Throws for a text that is no cursor of ours. */
export function startOf(cursor: string | undefined): Record<string, AttributeValue> | undefined {
  if (cursor === undefined) return undefined;
  return startKey.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
}
