import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { jobBodySchema, type JobBody } from '../../../lambdas/http/job-body.ts';
import { eventually, generousMs } from './eventually.ts';

/** Every job that any suite reads is held against the published schema, unknown fields included. */
const strictJob = z.strictObject(jobBodySchema.shape);

const problemSchema = z.looseObject({ status: z.number(), code: z.string(), title: z.string() });
export type Problem = z.infer<typeof problemSchema>;

const listSchema = z.strictObject({ jobs: z.array(strictJob), nextCursor: z.string().nullable() });
const ticketSchema = z.object({ ticket: z.string(), url: z.string(), expiresAt: z.string() });
const tokenSchema = z.object({ token: z.string(), expiresAt: z.string() });
const uploadSchema = z.object({ uploadId: z.string(), url: z.string(), fields: z.record(z.string(), z.string()) });
const laneSchema = z.looseObject({
  lane: z.string(),
  cap: z.number(),
  ceiling: z.number(),
  state: z.enum(['open', 'paused', 'tripped']),
  inFlight: z.number(),
  queued: z.number(),
});
export type LaneSeen = z.infer<typeof laneSchema>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Submit {
  readonly feature: 'upscale' | 'stylize';
  readonly picture: Uint8Array<ArrayBuffer>;
  readonly key?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** `confirmed` where it is left out. */
  readonly consent?: string;
}

export interface Submitted extends Answer {
  readonly key: string;
  /** Throws where the answer is no job. */
  readonly job: JobBody;
}

type Send = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> };

/** One caller of the HTTP API, as an app's server or an app itself. */
export class Api {
  readonly url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.url = url;
    this.#headers = headers;
  }

  /** The same key, acting for a user. */
  as(user: string): Api {
    return new Api(this.url, { ...this.#headers, 'Slowlane-User': user });
  }

  async send(route: string, { headers, ...init }: Send = {}): Promise<Answer> {
    const answer = await fetch(`${this.url}${route}`, { ...init, headers: { ...this.#headers, ...headers } });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }

  async sendJson(method: string, route: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const json = { 'Content-Type': 'application/json', ...headers };
    return await this.send(route, { method, body: JSON.stringify(body), headers: json });
  }

  async trySubmit({ feature, picture, key = randomUUID(), params, metadata, consent }: Submit): Promise<Submitted> {
    const form = new FormData();
    form.set('image', new Blob([picture]), 'photo.png');
    form.set('feature', feature);
    form.set('consent', consent ?? 'confirmed');
    if (params !== undefined) form.set('params', JSON.stringify(params));
    if (metadata !== undefined) form.set('metadata', JSON.stringify(metadata));
    const answer = await this.send('/api/v1/jobs', { method: 'POST', body: form, headers: { 'Idempotency-Key': key } });
    return submitted(key, answer);
  }

  /** @throws Error where it was not accepted. */
  async submit(submit: Submit): Promise<Submitted> {
    const answer = await this.trySubmit(submit);
    if (answer.status !== 202 && answer.status !== 200)
      throw new Error(`Not accepted: ${answer.status} ${answer.text}`);
    return answer;
  }

  async submitUpload(feature: Submit['feature'], uploadId: string, key: string = randomUUID()): Promise<Submitted> {
    const body = { feature, inputs: { image: { uploadId } }, consent: 'confirmed' };
    return submitted(key, await this.sendJson('POST', '/api/v1/jobs', body, { 'Idempotency-Key': key }));
  }

  async job(id: string): Promise<JobBody> {
    return jobOf(await this.send(`/api/v1/jobs/${id}`));
  }

  async list(query = ''): Promise<z.infer<typeof listSchema>> {
    const answer = await this.send(`/api/v1/jobs${query}`);
    return listSchema.parse(expectStatus(answer, 200));
  }

  async cancel(id: string): Promise<JobBody> {
    return jobOf(await this.send(`/api/v1/jobs/${id}/cancel`, { method: 'POST' }));
  }

  /** Reads the job until it is as wanted. */
  async until(id: string, what: string, wanted: (job: JobBody) => boolean, withinMs = generousMs): Promise<JobBody> {
    let last: JobBody | undefined;
    return await eventually(
      `job ${id} ${what}`,
      async () => {
        last = await this.job(id);
        return wanted(last) ? last : undefined;
      },
      { withinMs, everyMs: 75, seen: () => last },
    );
  }

  async done(id: string, withinMs = generousMs): Promise<JobBody> {
    return await this.until(id, 'done', (job) => job.done, withinMs);
  }

  async flagged(id: string, withinMs = generousMs): Promise<JobBody> {
    return await this.until(id, 'flagged', (job) => job.status === 'needs_attention', withinMs);
  }

  /** Of our own copy, by the link that the job carries. */
  async download(job: JobBody): Promise<Buffer> {
    const url = job.result?.url;
    if (url == null) throw new Error(`The job has no result: ${JSON.stringify(job)}`);
    const answer = await fetch(url);
    if (answer.status !== 200) throw new Error(`The result answers ${answer.status}`);
    return Buffer.from(await answer.arrayBuffer());
  }

  /** Of a socket, its ticket included. */
  async socketUrl(): Promise<string> {
    const answer = await this.send('/api/v1/socket-tickets', { method: 'POST' });
    return ticketSchema.parse(expectStatus(answer, 201)).url;
  }

  async mintToken(user: string, options: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const body = { user, expiresInSeconds: 600, ...options };
    const answer = await this.sendJson('POST', '/api/v1/client-tokens', body);
    return tokenSchema.parse(expectStatus(answer, 201)).token;
  }

  /** Announces an upload and sends its bytes, as a browser's form would. @returns its id. */
  async upload(picture: Uint8Array<ArrayBuffer>, contentType = 'image/png'): Promise<string> {
    const announced = { contentType, bytes: picture.byteLength };
    const answer = await this.sendJson('POST', '/api/v1/uploads', announced);
    const { uploadId, url, fields } = uploadSchema.parse(expectStatus(answer, 201));
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set('file', new Blob([picture], { type: contentType }));
    const stored = await fetch(url, { method: 'POST', body: form });
    if (!stored.ok) throw new Error(`The upload answers ${stored.status}: ${await stored.text()}`);
    return uploadId;
  }

  async lane(name = 'default'): Promise<LaneSeen> {
    const answer = await this.send('/api/v1/operator/lanes');
    const { lanes } = z.object({ lanes: z.array(laneSchema) }).parse(expectStatus(answer, 200));
    const found = lanes.find(({ lane }) => lane === name);
    if (found === undefined) throw new Error(`There is no lane ${name}`);
    return found;
  }

  async changeLane(change: { cap?: number; state?: 'open' | 'paused' }, name = 'default'): Promise<Answer> {
    return await this.sendJson('PATCH', `/api/v1/operator/lanes/${name}`, { ...change, reason: 'a test' });
  }

  async settle(id: string, verb: 'adopt' | 'retake' | 'resend' | 'fail', more: object = {}): Promise<Answer> {
    const body = { reason: 'a test', generation: 1, ...more };
    return await this.sendJson('POST', `/api/v1/operator/jobs/${id}/${verb}`, body);
  }
}

function submitted(key: string, answer: Answer): Submitted {
  return {
    ...answer,
    key,
    get job() {
      return jobOf(answer);
    },
  };
}

/** @throws Error with the whole answer where the status is another one. */
export function expectStatus({ status, text }: Answer, wanted: number): unknown {
  if (status !== wanted) throw new Error(`Expected ${wanted}, got ${status}: ${text}`);
  return JSON.parse(text);
}

function jobOf({ status, text }: Answer): JobBody {
  if (status !== 200 && status !== 202) throw new Error(`Not a job: ${status} ${text}`);
  return strictJob.parse(JSON.parse(text));
}

export function problemOf({ headers, text }: Answer): Problem {
  const type = headers.get('content-type') ?? '';
  if (!type.startsWith('application/problem+json')) throw new Error(`Not a problem: ${type} ${text}`);
  return problemSchema.parse(JSON.parse(text));
}
