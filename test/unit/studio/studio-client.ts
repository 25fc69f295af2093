import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { onTestFinished } from 'vitest';
import * as z from 'zod';

import { readSettings } from '../../../local/studio/settings.ts';
import { startStudio } from '../../../local/studio/studio.ts';

export const apiKey = 'test-key';

const jobSchema = z.strictObject({
  id: z.string(),
  key: z.string().nullable(),
  feature: z.string(),
  status: z.enum(['queued', 'running', 'succeeded', 'failed', 'canceled']),
  progress: z.strictObject({ percent: z.number(), stage: z.string() }),
  result: z
    .strictObject({ url: z.url(), contentType: z.string(), bytes: z.int(), width: z.int(), height: z.int() })
    .nullable(),
  error: z.string().nullable(),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  finishedAt: z.iso.datetime().nullable(),
});
export type ShownJob = z.infer<typeof jobSchema>;
export const readJob = (value: unknown): ShownJob => jobSchema.parse(value);

const ledgerSchema = z.strictObject({
  accepted: z.array(
    z.strictObject({
      vendorJobId: z.string(),
      key: z.string().nullable(),
      feature: z.string(),
      acceptedAt: z.iso.datetime(),
      status: z.string(),
      finishedAt: z.iso.datetime().nullable(),
    }),
  ),
  inFlight: z.int(),
  maxInFlight: z.int(),
  posts: z.int(),
});

export interface Order {
  readonly feature?: string;
  readonly key?: string;
  readonly image?: Uint8Array;
  readonly params?: unknown;
  readonly callbackUrl?: string;
  readonly prefix?: '' | '/blind';
  readonly apiKey?: string;
}

/** A studio's customer and operator, over HTTP. */
export class StudioClient {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async submit(order: Order = {}): Promise<Response> {
    const form = new FormData();
    form.set('feature', order.feature ?? 'stylize');
    form.set('image', new Blob([new Uint8Array(order.image ?? (await smallPicture()))]), 'photo');
    if (order.params !== undefined) form.set('params', JSON.stringify(order.params));
    if (order.callbackUrl !== undefined) form.set('callbackUrl', order.callbackUrl);
    return fetch(`${this.url}${order.prefix ?? ''}/api/v1/jobs`, {
      method: 'POST',
      headers: {
        'x-api-key': order.apiKey ?? apiKey,
        ...(order.key !== undefined && { 'idempotency-key': order.key }),
      },
      body: form,
    });
  }

  async accepted(order: Order = {}): Promise<ShownJob> {
    const response = await this.submit(order);
    if (response.status !== 202) throw new Error(`${response.status}: ${await response.text()}`);
    return readJob(await response.json());
  }

  async get(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, { ...init, headers: { 'x-api-key': apiKey } });
  }

  async job(id: string, prefix = ''): Promise<ShownJob> {
    return readJob(await (await this.get(`${prefix}/api/v1/jobs/${id}`)).json());
  }

  async jobWith(id: string, status: ShownJob['status'], prefix = ''): Promise<ShownJob> {
    return eventually(async () => {
      const job = await this.job(id, prefix);
      return job.status === status ? job : undefined;
    }, `${id} to be ${status}`);
  }

  async cancel(id: string): Promise<Response> {
    return this.get(`/api/v1/jobs/${id}/cancel`, { method: 'POST' });
  }

  async fault(fault: unknown): Promise<Response> {
    return fetch(`${this.url}/control/faults`, { method: 'POST', body: JSON.stringify(fault) });
  }

  async clearFaults(): Promise<void> {
    await fetch(`${this.url}/control/faults`, { method: 'DELETE' });
  }

  async hurry(): Promise<void> {
    await fetch(`${this.url}/control/hurry`, { method: 'POST' });
  }

  async ledger() {
    return ledgerSchema.parse(await (await fetch(`${this.url}/control/ledger`)).json());
  }

  /** The events of a job until its stream ends or breaks; `opened` runs once the studio has begun to stream. */
  async events(
    id: string,
    opened: () => Promise<unknown> = async () => undefined,
  ): Promise<{ events: { event: string; job: ShownJob }[]; broke: boolean }> {
    const response = await this.get(`/api/v1/jobs/${id}/events`);
    await opened();
    const decoder = new TextDecoder();
    let text = '';
    let broke = false;
    try {
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    } catch {
      broke = true;
    }
    const blocks = text.split('\n\n').filter((block) => block.startsWith('event: '));
    const events = blocks.map((block) => {
      const [event = '', data = ''] = block.split('\n');
      return { event: event.slice('event: '.length), job: readJob(JSON.parse(data.slice('data: '.length))) };
    });
    return { events, broke };
  }
}

/** A studio in this process, on its own folder and port, gone with the test. */
export async function openStudio(concurrency = 8): Promise<StudioClient> {
  const dataDir = await temporaryFolder();
  const settings = readSettings({ DATA_DIR: dataDir, PORT: '0', STUDIO_API_KEY: apiKey });
  const studio = await startStudio({ ...settings, concurrency, webhookPausesMs: [20, 40, 80] });
  onTestFinished(() => studio.close());
  return new StudioClient(studio.url);
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'studio-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Asks again until there is an answer; fails after a minute. */
export async function eventually<Value>(ask: () => Promise<Value | undefined>, what: string): Promise<Value> {
  const deadlineMs = Date.now() + 60_000;
  for (;;) {
    const value = await ask();
    if (value !== undefined) return value;
    if (Date.now() > deadlineMs) throw new Error(`Waited a minute for ${what}.`);
    await sleep(15);
  }
}

export async function smallPicture(width = 32, height = 24): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: '#b4503a' } })
    .png()
    .toBuffer();
}

/** A job that waits behind another until `begin`, then reports its percents in steps of five. */
export async function tickingJob() {
  const studio = await openStudio(1);
  await studio.fault({ point: 'run', fault: 'slow', seconds: 600, times: 1 });
  await studio.fault({ point: 'run', fault: 'ticks', perSecond: 40, seconds: 0.5, times: 1 });
  const ahead = await studio.accepted();
  const { id } = await studio.accepted({ feature: 'upscale' });
  return { studio, id, begin: () => studio.cancel(ahead.id) };
}
