import * as z from 'zod';
import type { ObjectFiles } from './s3-objects.ts';

export const lifecycleSchema = z.object({
  Rules: z.array(
    z.object({
      Prefix: z.string().default(''),
      Status: z.enum(['Enabled', 'Disabled']),
      ExpirationInDays: z.coerce.number().optional(),
      // A rule narrowed by something else than a prefix would expire too much here.
      TagFilters: z.undefined('The local S3 expires by prefix only.').optional(),
    }),
  ),
});

export type Lifecycle = z.infer<typeof lifecycleSchema>;

const dayMs = 24 * 60 * 60_000;

/** Deletes what the bucket's rules say is too old. */
export async function expireObjects(objects: ObjectFiles, { Rules }: Lifecycle, nowMs: number): Promise<void> {
  for (const { Prefix, Status, ExpirationInDays } of Rules) {
    if (Status === 'Disabled' || ExpirationInDays === undefined) continue;
    for (const record of objects.list(Prefix)) {
      if (nowMs - record.modifiedAtMs > ExpirationInDays * dayMs) await objects.delete(record.key);
    }
  }
}
