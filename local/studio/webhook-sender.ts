import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';

import type { FaultBoard } from './fault-board.ts';
import type { StudioJob } from './job.ts';
import { presentJob } from './job.ts';
import { featureSchema } from './order.ts';
import { pause } from './pause.ts';
import { postHalfWebhook, postWebhook } from './webhook-post.ts';
import { webhookHeaders } from './webhook-signature.ts';

const owedSchema = z.object({
  id: z.string(),
  job_id: z.string(),
  feature: featureSchema,
  url: z.string(),
  body: z.string(),
  moment: z.enum(['started', 'finished']),
});
type Owed = z.infer<typeof owedSchema>;

export interface WebhookSettings {
  readonly secret: string;
  readonly pausesMs: readonly number[];
  readonly baseUrl: string;
}

/** Tells callers of starts and ends. What is owed is durable; it is given up after the last try. */
export class WebhookSender {
  readonly #database: DatabaseSync;
  readonly #faults: FaultBoard;
  readonly #settings: WebhookSettings;
  /** By message id: a message is delivered by one loop at a time. */
  readonly #deliveries = new Map<string, Promise<void>>();
  #halting = new AbortController();

  constructor(database: DatabaseSync, faults: FaultBoard, settings: WebhookSettings) {
    this.#database = database;
    this.#faults = faults;
    this.#settings = settings;
  }

  /** Writes a message down, inside the caller's transaction; nothing is sent yet. */
  owe(job: StudioJob, moment: Owed['moment']): void {
    if (job.callbackUrl === null) return;
    this.#database
      .prepare('INSERT INTO owed_webhooks (id, job_id, feature, url, body, moment) VALUES (?, ?, ?, ?, ?, ?)')
      .run(
        `msg_${randomUUID()}`,
        job.id,
        job.order.feature,
        job.callbackUrl,
        JSON.stringify(presentJob(job, this.#settings.baseUrl)),
        moment,
      );
  }

  /** Sends what one job owes, without waiting for it. */
  deliverOwed(jobId: string): void {
    for (const owed of this.#owed('WHERE job_id = ?', jobId)) this.#start(owed);
  }

  /** Takes up what was owed when the process died. */
  resume(): void {
    this.#halting = new AbortController();
    for (const owed of this.#owed('')) this.#start(owed);
  }

  /** Stops sending; what is owed stays owed. */
  async halt(): Promise<void> {
    this.#halting.abort();
    await Promise.all(this.#deliveries.values());
  }

  #owed(where: string, ...values: string[]): Owed[] {
    return z
      .array(owedSchema)
      .parse(this.#database.prepare(`SELECT * FROM owed_webhooks ${where} ORDER BY rowid`).all(...values));
  }

  #start(owed: Owed): void {
    if (this.#halting.signal.aborted || this.#deliveries.has(owed.id)) return;
    const delivery = this.#deliver(owed).finally(() => this.#deliveries.delete(owed.id));
    this.#deliveries.set(owed.id, delivery);
  }

  async #deliver(owed: Owed): Promise<void> {
    const halting = this.#halting.signal;
    for (const pauseMs of [0, ...this.#settings.pausesMs]) {
      if (pauseMs > 0) await pause(pauseMs, halting);
      if (halting.aborted) return;
      if (await this.#tryOnce(owed, halting)) break;
    }
    if (!halting.aborted) this.#database.prepare('DELETE FROM owed_webhooks WHERE id = ?').run(owed.id);
  }

  /** One try, faults included. True: nothing more is to be sent. */
  async #tryOnce(owed: Owed, halting: AbortSignal): Promise<boolean> {
    const fault = this.#faults.take('webhook', owed.feature);
    switch (fault?.fault) {
      case undefined:
        return this.#post(owed, halting);
      case 'silent':
        return true;
      case 'drop':
        await postHalfWebhook(owed.url, this.#headers(owed), owed.body);
        return false;
      case 'status':
        await this.#post(owed, halting);
        return false;
      case 'repeat':
        await this.#post(owed, halting);
        return this.#post(owed, halting);
      case 'delay':
        await pause(fault.seconds * 1_000, AbortSignal.any([halting, this.#faults.cleared]));
        return this.#post(owed, halting);
      case 'reorder':
        if (owed.moment === 'started') await this.#afterTheEnd(owed, halting);
        return this.#post(owed, halting);
    }
  }

  async #post(owed: Owed, halting: AbortSignal): Promise<boolean> {
    if (halting.aborted) return false;
    return postWebhook(owed.url, this.#headers(owed), owed.body, halting);
  }

  /** Each try is signed anew, so that a late one isn't refused for its age. */
  #headers(owed: Owed): Record<string, string> {
    return webhookHeaders(this.#settings.secret, owed.id, Date.now(), owed.body);
  }

  /** Until the job's other message is out, or the faults are cleared. */
  async #afterTheEnd(owed: Owed, halting: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([halting, this.#faults.cleared]);
    while ((await pause(20, signal)) === 'elapsed') {
      const others = this.#owed('WHERE job_id = ?', owed.job_id).filter((other) => other.id !== owed.id);
      const unfinished = this.#database
        .prepare('SELECT 1 FROM jobs WHERE id = ? AND finished_at IS NULL')
        .get(owed.job_id);
      if (!unfinished && others.length === 0) return;
    }
  }
}
