import * as z from 'zod';
import { isTerminal, states, type FlagCode, type Job } from '../domain/job.ts';
import { mostAhead } from '../domain/queue-place.ts';
import type { ShownJob } from '../domain/show-job.ts';
import { jsonObject } from './json-object.ts';

/** A job as everybody outside sees it: over HTTP, over sockets, in events. Absent = null. v1 only ever adds to it. */

const time = z.iso.datetime();
const count = z.int().nonnegative();

const result = z.object({
  url: z.string().nullable().describe('Our own copy; short-lived. Null where no link was made: read the job.'),
  expiresAt: time.nullable(),
  contentType: z.string(),
  bytes: count,
  width: count,
  height: count,
});

export const chargeStates = ['none', 'possible', 'certain'] as const;

export const jobBodySchema = z.object({
  id: z.string(),
  status: z.enum(states),
  done: z.boolean().describe('Only this ends a wait. It is true for succeeded, failed and canceled.'),
  feature: z.string(),
  progress: z.object({ percent: z.number().min(0).max(100), stage: z.string().nullable(), at: time }).nullable(),
  queue: z
    .object({ ahead: count, estimatedStartAt: time.nullable() })
    .nullable()
    .describe(`A glance, not a promise: no more than ${mostAhead} are counted. Null where it is not queued.`),
  createdAt: time,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  version: z.int().positive().describe('Rises with every change: an older snapshot never replaces a newer one.'),
  cancelRequestedAt: time.nullable(),
  results: z.array(result),
  result: result.nullable().describe('The first of `results`.'),
  error: z
    .object({
      code: z.string(),
      message: z.string(),
      retryable: z.boolean().describe('Whether a new action, with a new key, may succeed.'),
    })
    .nullable(),
  attention: z.object({ code: z.string(), since: time, message: z.string() }).nullable(),
  charge: z.object({
    state: z.enum(chargeStates),
    amount: z.number().nullable(),
    currency: z.string().nullable(),
  }),
  metadata: jsonObject.nullable(),
  warnings: z.array(z.object({ code: z.string(), message: z.string() })),
  expiresAt: time.nullable().describe('Until when it is kept; null while it is not done.'),
});

export type JobBody = z.infer<typeof jobBodySchema>;
type ResultBody = z.infer<typeof result>;

/** What is shown beside a job; all of it may be left out where nobody can say. */
export type JobView = Partial<Omit<ShownJob, 'job'>>;

export function jobBody(job: Job, { place, metadata, links = [], price }: JobView = {}): JobBody {
  const results = job.results.map(({ contentType, bytes, width, height }, index): ResultBody => {
    const link = links[index];
    return { url: link?.url ?? null, expiresAt: iso(link?.expiresAtMs), contentType, bytes, width, height };
  });
  return {
    id: job.id,
    status: job.state,
    done: isTerminal(job.state),
    feature: job.feature,
    progress: progressBody(job),
    queue: place === undefined ? null : { ahead: place.ahead, estimatedStartAt: iso(place.estimatedStartAt) },
    createdAt: isoOf(job.createdAt),
    startedAt: iso(job.startedAt),
    finishedAt: iso(job.finishedAt),
    version: job.version,
    cancelRequestedAt: iso(job.cancelRequestedAt),
    results,
    result: results[0] ?? null,
    error: errorBody(job),
    attention: attentionBody(job),
    charge: chargeBody(job, price),
    metadata: metadata ?? null,
    warnings: warningsOf(job),
    expiresAt: iso(job.ttl === undefined ? undefined : job.ttl * 1000),
  };
}

function progressBody({ progress }: Job): JobBody['progress'] {
  if (progress === undefined) return null;
  return { percent: progress.percent, stage: progress.stage ?? null, at: isoOf(progress.at) };
}

/** Only where doing it anew can end otherwise. A vendor's refusal is about the request itself. */
const retryableFailures: readonly string[] = ['expired_in_queue', 'sends_spent', 'failed_at_vendor'];

function errorBody({ failure }: Job): JobBody['error'] {
  if (failure === undefined) return null;
  return { ...failure, retryable: retryableFailures.includes(failure.code) };
}

/** For the user who waits. It never advises another attempt: that is how one action is paid for twice. */
const attentionMessages: Readonly<Record<FlagCode, string>> = {
  unknown_send: 'We could not confirm whether the picture service took this job. It is being checked, and stays safe.',
  worker_lost: 'We could not confirm whether the picture service took this job. It is being checked, and stays safe.',
  vendor_lost_job: 'The picture service no longer reports this job. It is being checked by a person.',
  overdue: 'This job takes longer than it should. It is being checked by a person.',
  result_lost: 'The picture was made, but could not be collected yet. It is being checked by a person.',
  vendor_job_conflict: 'The picture service mixed up two jobs. It is being checked by a person.',
  restored: 'This job was restored from a backup. It is being checked by a person.',
};

function attentionBody(job: Job): JobBody['attention'] {
  if (job.state !== 'needs_attention') return null;
  const { code, since } = job.flag;
  return { code, since: isoOf(since), message: attentionMessages[code] };
}

type Charge = (typeof chargeStates)[number];

function chargeBody(job: Job, price: JobView['price']): JobBody['charge'] {
  const state = chargeOf(job);
  if (state === 'none') return { state, amount: null, currency: null };
  return { state, amount: price?.amount ?? null, currency: price?.currency ?? null };
}

/** Whether the vendor may bill us for it. An earlier generation may have run as well, or nobody would have resent it. */
export function chargeOf(job: Job): Charge {
  switch (job.state) {
    case 'succeeded':
    case 'running':
      return 'certain';
    case 'dispatching':
    case 'needs_attention':
      return 'possible';
    case 'queued':
    case 'failed':
    case 'canceled':
      return job.vendorJobId !== undefined || job.maybeSent || job.generation > 1 ? 'possible' : 'none';
  }
}

function warningsOf(job: Job): JobBody['warnings'] {
  if (job.state === 'succeeded' && job.cancelRequestedAt !== undefined) {
    return [{ code: 'finished_before_cancel', message: 'It was finished before it could be canceled.' }];
  }
  if (job.state === 'failed' && job.hold !== undefined) {
    return [{ code: 'may_still_run', message: 'It was ended by a person, and may still be running at the vendor.' }];
  }
  return [];
}

function isoOf(at: number): string {
  return new Date(at).toISOString();
}

function iso(at: number | undefined): string | null {
  return at === undefined ? null : isoOf(at);
}
