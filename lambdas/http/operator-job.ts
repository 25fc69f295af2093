import * as z from 'zod';
import type { Principal } from '../domain/access.ts';
import { userOf, vendorKeyOf, type Job } from '../domain/job.ts';
import { causeOf, causes, flaggedAt } from '../domain/list-flagged.ts';
import { cantBeRunningFrom } from '../domain/money-rule.ts';
import type { Evidence, AuditEntry } from '../domain/ports.ts';
import type { Price } from '../domain/show-job.ts';
import type { Vendors } from '../domain/vendor.ts';
import { jobBody, jobBodySchema } from './job-body.ts';
import { jsonObject } from './json-object.ts';

/** A job as the person sees it who has to decide about it. Absent = null. */

const time = z.iso.datetime();
const count = z.int().nonnegative();

export const operatorJobSchema = z.object({
  job: jobBodySchema.describe('As its owner sees it, without links to pictures.'),
  user: z.string(),
  lane: z.string(),
  cause: z.enum(causes).nullable().describe('Why it waits for a person; null where it does not.'),
  since: time.nullable().describe('Since when it waits for a person.'),
  vendor: z.string(),
  vendorKey: z.string().describe('What the vendor got as idempotency key or client id: search for it in its console.'),
  vendorJobId: z.string().nullable(),
  generation: z.int().positive().describe('Orders name it: one about an older generation is refused.'),
  attempt: count,
  sends: count.describe('How many times this generation was sent while it held its unit.'),
  maybeSent: z.boolean().describe('A send may have been taken of which nobody has the answer.'),
  held: z.boolean().describe('Whether it holds a unit of the lane: it may be running at the vendor.'),
  cantBeRunningFrom: time
    .nullable()
    .describe('From then on it can not be running, whatever became of the send. Null where the vendor sets no bound.'),
});
export type OperatorJobBody = z.infer<typeof operatorJobSchema>;

export const evidenceSchema = z.object({
  at: time,
  attempt: count,
  generation: count,
  vendorKey: z.string(),
  what: z.string(),
  detail: jsonObject,
});

export const auditEntrySchema = z.object({
  at: time,
  actor: z.string(),
  action: z.string(),
  reason: z.string(),
  detail: jsonObject,
});

export interface OperatorView {
  readonly vendors: Vendors;
  readonly prices: (vendor: string) => Price | undefined;
}

export function operatorJobBody(job: Job, { vendors, prices }: OperatorView): OperatorJobBody {
  const traits = vendors.named(job.vendor)?.traits;
  const cause = causeOf(job);
  return {
    job: jobBody(job, { price: prices(job.vendor) }),
    user: userOf(job.owner),
    lane: job.lane,
    cause: cause ?? null,
    since: cause === undefined ? null : iso(flaggedAt(job)),
    vendor: job.vendor,
    vendorKey: vendorKeyOf(job),
    vendorJobId: job.vendorJobId ?? null,
    generation: job.generation,
    attempt: job.attempt,
    sends: job.sends,
    maybeSent: job.maybeSent,
    held: job.hold !== undefined,
    cantBeRunningFrom: isoOrNull(traits === undefined ? undefined : cantBeRunningFrom(job, traits)),
  };
}

export function evidenceBody({ at, ...rest }: Evidence): z.infer<typeof evidenceSchema> {
  return { at: iso(at), ...rest };
}

export function auditBody({ at, ...rest }: AuditEntry): z.infer<typeof auditEntrySchema> {
  return { at: iso(at), ...rest };
}

/** Who did it, for the audit trail. */
export function actorOf({ kind, keyId, tenant, user }: Principal): string {
  return keyId === undefined ? `${kind}:${tenant}/${user}` : `key:${tenant}/${keyId}`;
}

export function iso(at: number): string {
  return new Date(at).toISOString();
}

export function isoOrNull(at: number | undefined): string | null {
  return at === undefined ? null : iso(at);
}
