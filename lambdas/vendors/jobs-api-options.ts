import * as z from 'zod';
import type { DedupeClass } from '../domain/vendor.ts';

/** What VENDORS may say under `options` of a vendor that speaks the keyed jobs API. */
export const jobsApiOptions = z.strictObject({
  /** Whether `GET /api/v1/jobs/{id}/events` exists. */
  events: z.boolean().default(true),
  /** Whether `POST /api/v1/jobs/{id}/cancel` exists. */
  cancel: z.boolean().default(true),
  /** Where a job is asked for by our key, such as `/api/v1/jobs/by-key/{key}`; absent: nowhere. */
  lookupPath: z.string().startsWith('/').includes('{key}').optional(),
  /** Statuses of a submit, besides 429, that the vendor documents as "not taken". */
  notTaken: z.array(z.int().min(400).max(599)).default([]),
  /** Error codes by which the vendor says that it saw a key before. */
  keyReusedCodes: z
    .array(z.string())
    .default(['idempotency_key_reuse', 'idempotency_key_reused', 'idempotency_key_in_use']),
  /**
   * Error codes with which a 401, 402, 403, 404 or 405 is about the request, such as a prompt that is not allowed. Without
   * them one such request closes the lane, as a bad key would.
   */
  refusedCodes: z.array(z.string()).default([]),
  askTimeoutMs: z.int().positive().default(10_000),
  /** Longest silence of an event stream before the job is asked after instead. */
  idleMs: z.int().positive().default(30_000),
  resultTimeoutMs: z.int().positive().default(60_000),
  maxResultBytes: z
    .int()
    .positive()
    .default(64 * 1_024 * 1_024),
});

export type JobsApiOptions = z.infer<typeof jobsApiOptions>;

/** Looked at before anything is deployed, and when a function starts. */
export function wrongWithJobsApiOptions(options: unknown, dedupe: DedupeClass): readonly string[] {
  const parsed = jobsApiOptions.safeParse(options);
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  const isBlind = dedupe === 'lookup' && parsed.data.lookupPath === undefined;
  return isBlind ? ['lookupPath: is required by class lookup: where a job is asked for by our key'] : [];
}

/** @throws Error naming what is wrong: a deployment fault, found when the function starts. */
export function readJobsApiOptions(vendor: string, options: unknown, dedupe: DedupeClass): JobsApiOptions {
  const wrong = wrongWithJobsApiOptions(options, dedupe);
  if (wrong.length > 0) throw new Error(`vendor ${vendor}: options: ${wrong.join('; ')}`);
  return jobsApiOptions.parse(options);
}
