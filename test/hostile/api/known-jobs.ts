import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';

/** A job for each operation that works on one, in a state in which it has something to do: its id is no guess. */
export interface KnownJobs {
  readonly idByOperation: Readonly<Record<string, string>>;
  readonly idempotencyKey: string;
}

const jobSchema = z.object({ id: z.string(), status: z.string() });
const photoFile = path.join(import.meta.dirname, '../../fixtures/photo.jpg');
const reachLimitMs = 60_000;

export async function makeKnownJobs(url: string, studioUrl: string, apiKey: string): Promise<KnownJobs> {
  const api = new Jobs(url, apiKey);
  const idempotencyKey = randomUUID();
  const finished = await api.reach(await api.submit(idempotencyKey), 'succeeded');

  // A flagged job keeps its unit of the lane: there must be one for each.
  await api.changeLane({ cap: 8 });
  // The vendor takes it and hangs up, and never calls back: nobody can know.
  await playFaults(studioUrl, [
    { point: 'submit', fault: 'drop-after-accept' },
    { point: 'webhook', fault: 'silent' },
  ]);
  const flagged: string[] = [];
  for (const _ of ['adopt', 'retake', 'resend', 'fail']) {
    flagged.push(await api.reach(await api.submit(randomUUID()), 'needs_attention'));
  }
  await clearFaults(studioUrl);

  await api.changeLane({ state: 'paused' });
  const [canceled, erased] = [await api.submit(randomUUID()), await api.submit(randomUUID())];
  return {
    idempotencyKey,
    idByOperation: {
      readJob: finished,
      readResult: finished,
      cancelJob: canceled,
      eraseJob: erased,
      readOperatorJob: flagged[0]!,
      adoptJob: flagged[0]!,
      retakeJob: flagged[1]!,
      resendJob: flagged[2]!,
      failJob: flagged[3]!,
    },
  };
}

async function playFaults(studioUrl: string, faults: readonly object[]): Promise<void> {
  for (const fault of faults) {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${studioUrl}/control/faults`, { method: 'POST', headers, body: JSON.stringify(fault) });
    if (!answer.ok) throw new Error(`The studio refused a fault: ${answer.status} ${await answer.text()}`);
  }
}

async function clearFaults(studioUrl: string): Promise<void> {
  const answer = await fetch(`${studioUrl}/control/faults`, { method: 'DELETE' });
  if (!answer.ok) throw new Error(`The studio kept its faults: ${answer.status}`);
}

class Jobs {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, apiKey: string) {
    this.#url = url;
    this.#headers = { 'X-API-Key': apiKey };
  }

  async submit(key: string): Promise<string> {
    const body = new FormData();
    body.set('image', new Blob([await readFile(photoFile)]), 'photo.jpg');
    body.set('feature', 'stylize');
    body.set('consent', 'confirmed');
    const headers = { ...this.#headers, 'Idempotency-Key': key };
    const answer = await fetch(`${this.#url}/api/v1/jobs`, { method: 'POST', headers, body });
    return jobSchema.parse(await answer.json()).id;
  }

  async reach(id: string, wanted: string): Promise<string> {
    const giveUpAtMs = Date.now() + reachLimitMs;
    for (;;) {
      const answer = await fetch(`${this.#url}/api/v1/jobs/${id}`, { headers: this.#headers });
      const { status } = jobSchema.parse(await answer.json());
      if (status === wanted) return id;
      if (Date.now() > giveUpAtMs) throw new Error(`Job ${id} is ${status}, and never became ${wanted}.`);
      await pause(200);
    }
  }

  async changeLane(change: object): Promise<void> {
    const headers = { ...this.#headers, 'content-type': 'application/json' };
    const body = JSON.stringify({ ...change, reason: 'Jobs to be asked for' });
    const answer = await fetch(`${this.#url}/api/v1/operator/lanes/default`, { method: 'PATCH', headers, body });
    if (!answer.ok) throw new Error(`The lane was not changed: ${answer.status} ${await answer.text()}`);
  }
}
