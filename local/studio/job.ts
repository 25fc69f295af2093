import * as z from 'zod';

import type { Order } from './order.ts';

export const statusSchema = z.enum(['queued', 'running', 'succeeded', 'failed', 'canceled']);
export type Status = z.infer<typeof statusSchema>;

export const resultSchema = z.object({
  contentType: z.string(),
  bytes: z.int(),
  width: z.int(),
  height: z.int(),
});
/** What is known about a finished picture. */
export type ResultFacts = z.infer<typeof resultSchema>;

/** `percent` is 0 to 100 and never goes down within one run. */
export interface Progress {
  readonly percent: number;
  readonly stage: string;
}

export interface StudioJob {
  readonly id: string;
  /** The caller's Idempotency-Key. */
  readonly key: string | null;
  /** False for jobs posted under `/blind`, where a key is kept but never compared. */
  readonly dedupes: boolean;
  readonly order: Order;
  readonly callbackUrl: string | null;
  readonly status: Status;
  readonly progress: Progress;
  readonly acceptedAtMs: number;
  readonly startedAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly cancelRequestedAtMs: number | null;
  readonly result: ResultFacts | null;
  readonly error: string | null;
}

export function isFinished(status: Status): boolean {
  switch (status) {
    case 'queued':
    case 'running':
      return false;
    case 'succeeded':
    case 'failed':
    case 'canceled':
      return true;
  }
}

/** A job as the vendor API, its event stream and its webhooks show it. */
export function presentJob(job: StudioJob, baseUrl: string) {
  const prefix = job.dedupes ? '' : '/blind';
  return {
    id: job.id,
    key: job.key,
    feature: job.order.feature,
    status: job.status,
    progress: job.progress,
    result: job.result && { url: `${baseUrl}${prefix}/api/v1/jobs/${job.id}/result`, ...job.result },
    error: job.error,
    createdAt: isoTime(job.acceptedAtMs),
    startedAt: job.startedAtMs === null ? null : isoTime(job.startedAtMs),
    finishedAt: job.finishedAtMs === null ? null : isoTime(job.finishedAtMs),
  };
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
