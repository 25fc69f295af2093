import * as z from 'zod';
import type { VendorWord } from '../domain/vendor.ts';
import type { Answered } from './call.ts';
import type { VendorReason } from './classify.ts';
import { readable } from './readable.ts';

/*
 * How the answers of a keyed jobs API are read. Only what we act on is required: a vendor may add fields, and a field
 * that is only for show (progress) never makes an answer unreadable.
 */

const vendorError = z.union([
  z.string().transform((message) => ({ code: undefined, message })),
  z.object({ code: z.string().optional().catch(undefined), message: z.string().optional().catch(undefined) }),
]);

// Visible ASCII, and never a dot segment: the id becomes a path segment of the next request.
const vendorJobId = z.string().regex(/^(?!\.{1,2}$)[\x21-\x7e]{1,200}$/);

/** Our key where the vendor repeats it, cut to a length that can be kept: none of ours is as long. */
const vendorKey = z
  .string()
  .transform((key) => key.slice(0, 200))
  .nullish()
  .catch(undefined);

const jobAnswer = z.object({
  id: vendorJobId,
  key: vendorKey,
  status: z.string(),
  progress: z
    .object({ percent: z.number().nullish().catch(undefined), stage: z.string().nullish().catch(undefined) })
    .nullish()
    .catch(undefined),
  result: z
    .object({ url: z.string().min(1), contentType: z.string().nullish().catch(undefined) })
    .nullish()
    .catch(undefined),
  error: vendorError.nullish().catch(undefined),
});

/** A job, bare or as the `data` of an event: webhooks come in both forms. */
const jobEvent = z.union([
  z.object({ data: z.object({ id: vendorJobId, key: vendorKey }) }).transform(({ data }) => data),
  z.object({ id: vendorJobId, key: vendorKey }),
]);

/** The vendor job that an event is about, and our key where the vendor repeats it. */
export function readEventJob(text: string): z.infer<typeof jobEvent> | undefined {
  return jobEvent.safeParse(parseJson(text)).data;
}

export type JobAnswer = z.infer<typeof jobAnswer>;

/** A job as the vendor tells it; undefined where it can't be read, or has no id. */
export function readJob(text: string): JobAnswer | undefined {
  return jobAnswer.safeParse(parseJson(text)).data;
}

/** A submit's 2xx needs nothing but the id: whatever else it says, the vendor has the job. */
export function readId(text: string): string | undefined {
  return z.object({ id: vendorJobId }).safeParse(parseJson(text)).data?.id;
}

const refusal = z.object({
  error: vendorError.optional().catch(undefined),
  code: z.string().optional().catch(undefined),
  message: z.string().optional().catch(undefined),
  detail: z.string().optional().catch(undefined),
  title: z.string().optional().catch(undefined),
});

/** The reason in an error body: `{error:{code,message}}`, `{error:"…"}`, `{code,message}` or problem+json. */
export function readReason(answer: Answered): VendorReason {
  const body = refusal.safeParse(parseJson(textOf(answer))).data;
  return {
    code: body?.error?.code ?? body?.code,
    message: body?.error?.message ?? body?.message ?? body?.detail ?? body?.title,
  };
}

export function textOf(answer: Answered): string {
  return Buffer.from(answer.body).toString('utf8');
}

/** What a job's answer says. A status that we don't know is `unreachable`: it is neither running nor finished. */
export function wordOf(job: JobAnswer): VendorWord {
  switch (job.status) {
    case 'queued':
    case 'running':
      return {
        kind: 'pending',
        phase: job.status,
        percent: percentOf(job.progress?.percent),
        stage: readable(job.progress?.stage ?? '') || undefined,
      };
    case 'succeeded':
      if (!job.result) return unreachable('succeeded, without a result that can be read');
      return {
        kind: 'succeeded',
        result: { kind: 'url', url: job.result.url, contentType: job.result.contentType ?? undefined },
      };
    case 'failed':
      return {
        kind: 'failed',
        code: /^[\w.-]{1,64}$/.exec(job.error?.code ?? '')?.[0] ?? 'failed',
        message: readable(job.error?.message ?? '') || 'The vendor could not make this picture.',
      };
    case 'canceled':
      return { kind: 'canceled' };
    default:
      return unreachable(`unknown status: ${job.status}`);
  }
}

export function unreachable(message: string, retryAfterMs?: number): Extract<VendorWord, { kind: 'unreachable' }> {
  return { kind: 'unreachable', message: readable(message), retryAfterMs };
}

function percentOf(percent: number | null | undefined): number | undefined {
  return typeof percent === 'number' && Number.isFinite(percent) ? Math.min(Math.max(percent, 0), 100) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
