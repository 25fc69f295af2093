import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import * as z from 'zod';
import { anybody, type Answer, type Api, type Call } from './api.ts';

const time = z.iso.datetime();
const picture = z.object({
  url: z.url(),
  expiresAt: time,
  contentType: z.string(),
  bytes: z.int().positive(),
  width: z.int().positive(),
  height: z.int().positive(),
});

/** A job as the contract has it. Members that are not named here may be added, never taken away. */
export const jobSchema = z.object({
  id: z.string().regex(/^job_[a-z2-7]+$/),
  status: z.enum(['queued', 'dispatching', 'running', 'needs_attention', 'succeeded', 'failed', 'canceled']),
  done: z.boolean(),
  feature: z.string(),
  progress: z.object({ percent: z.number().min(0).max(100), stage: z.string().nullable(), at: time }).nullable(),
  queue: z.object({ ahead: z.int().nonnegative(), estimatedStartAt: time.nullable() }).nullable(),
  createdAt: time,
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
  version: z.int().positive(),
  cancelRequestedAt: time.nullable(),
  results: z.array(picture),
  result: picture.nullable(),
  error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }).nullable(),
  attention: z.object({ code: z.string(), since: time, message: z.string() }).nullable(),
  charge: z.object({
    state: z.enum(['none', 'possible', 'certain']),
    amount: z.number().nullable(),
    currency: z.string().nullable(),
  }),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  warnings: z.array(z.object({ code: z.string(), message: z.string() })),
  expiresAt: time.nullable(),
});
export type Job = z.infer<typeof jobSchema>;

const featureSchema = z.object({
  name: z.string(),
  inputs: z.object({ image: z.object({ accepts: z.array(z.string()), maxBytes: z.int() }).nullable() }),
  consent: z.enum(['required', 'none']),
});
export const featuresSchema = z.object({ features: z.array(featureSchema).min(1) });
export type Feature = z.infer<typeof featureSchema>;

/** A feature that takes a photograph and needs no parameters: `wanted` where it is deployed. */
export async function photoFeature(wanted: string): Promise<Feature> {
  const { features } = featuresSchema.parse((await anybody.call('GET', '/api/v1/features')).json());
  const taking = features.filter(({ inputs }) => inputs.image?.accepts.includes('image/jpeg'));
  const feature = taking.find(({ name }) => name === wanted) ?? taking[0];
  if (feature === undefined) throw new Error('No deployed feature takes a JPEG photograph.');
  return feature;
}

export async function readPhoto(): Promise<Buffer<ArrayBuffer>> {
  return Buffer.from(await readFile(path.join(import.meta.dirname, '../fixtures/photo.jpg')));
}

export interface Submission {
  readonly feature: Feature;
  readonly photo: Uint8Array<ArrayBuffer>;
  readonly key: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export async function newSubmission(feature = 'stylize'): Promise<Submission> {
  return { feature: await photoFeature(feature), photo: await readPhoto(), key: randomUUID() };
}

/** As an app submits: a multipart form. */
export function formOf({ feature, photo, key, metadata }: Submission): Call {
  const body = new FormData();
  body.set('image', new Blob([photo], { type: 'image/jpeg' }), 'photo.jpg');
  body.set('feature', feature.name);
  if (feature.consent === 'required') body.set('consent', 'confirmed');
  if (metadata !== undefined) body.set('metadata', JSON.stringify(metadata));
  return { headers: { 'Idempotency-Key': key }, body };
}

export function submit(api: Api, submission: Submission): Promise<Answer> {
  return api.call('POST', '/api/v1/jobs', formOf(submission));
}

/** Of an answer that must hold one. */
export function jobOf(answer: Answer, status: number): Job {
  expect({ status: answer.status, body: answer.text }).toEqual({ status, body: expect.stringMatching(/^\{"id":/) });
  return jobSchema.parse(answer.json());
}

export async function submitted(api: Api, submission: Submission): Promise<Job> {
  return jobOf(await submit(api, submission), 202);
}

export async function read(api: Api, id: string): Promise<Job> {
  return jobOf(await api.call('GET', `/api/v1/jobs/${id}`), 200);
}

const finishLimitMs = 90_000;

/** Polls as a client should: for as long as `done` is false, and never faster than it is told. */
export async function finished(api: Api, id: string): Promise<Job> {
  const giveUpAtMs = Date.now() + finishLimitMs;
  for (;;) {
    const answer = await api.call('GET', `/api/v1/jobs/${id}`);
    const job = jobOf(answer, 200);
    if (job.done) return job;
    if (Date.now() > giveUpAtMs) throw new Error(`Not done after ${finishLimitMs / 1000} s: ${answer.text}`);
    const retryAfterSeconds = Number(answer.headers.get('retry-after'));
    expect(retryAfterSeconds).toBeGreaterThan(0);
    await pause(Math.min(retryAfterSeconds, 5) * 1000);
  }
}
