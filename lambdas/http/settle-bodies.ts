import * as z from 'zod';
import { causes } from '../domain/list-flagged.ts';

/** What a person sends to settle flagged jobs. */

const reason = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .describe('Why. It is kept in the audit trail, which outlives the job.');
const notRunning = z
  .boolean()
  .default(false)
  .describe('The person vouches that nothing of it is running at the vendor. Wrong, it may be paid for twice.');
const vendorJobId = z
  .string()
  .trim()
  // As vendors make them. It becomes a segment of the path under which the vendor is asked: never one with dots only.
  .regex(/^(?!\.{1,2}$)[\x21-\x7e]{1,200}$/, 'must be 1 to 200 visible ASCII characters, and not `.` or `..`');

const order = {
  reason,
  generation: z.int().positive().describe('As the person saw it: an order about an older generation is refused.'),
  dryRun: z.boolean().default(false).describe('Says what would happen, and changes nothing.'),
};

export const adoptBody = z.strictObject({ ...order, vendorJobId });
export const retakeBody = z.strictObject(order);
export const resendBody = z.strictObject({ ...order, notRunning });
export const failBody = z.strictObject({ ...order, notRunning });

const lane = z.string().min(1).max(40);
const cursor = z.string().min(1).max(6_000).describe('`nextCursor` of the answer before.');

export const flaggedFilter = {
  lane: lane.optional(),
  code: z.enum(causes).optional().describe('The cause.'),
  vendor: z.string().min(1).max(40).optional(),
};

export const listFlaggedQuery = z.strictObject({
  ...flaggedFilter,
  cursor: cursor.optional(),
  limit: z.coerce.number().int().min(1).max(50).default(20),
});

const many = {
  filter: z.strictObject(flaggedFilter),
  reason,
  // No default: whoever settles by filter says which of the two it is.
  dryRun: z.boolean(),
  limit: z.int().min(1).max(50).default(20).describe('At most so many now; `nextCursor` goes on.'),
  cursor: cursor.optional(),
};

export const settleManyBody = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('retake'), ...many }),
  z.strictObject({ action: z.literal('resend'), notRunning, ...many }),
  z.strictObject({ action: z.literal('fail'), notRunning, ...many }),
]);
export type SettleMany = z.infer<typeof settleManyBody>;
