import type { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';

import { inTransaction } from './database.ts';
import type { Progress, ResultFacts, StudioJob } from './job.ts';
import { resultSchema, statusSchema } from './job.ts';
import type { Order } from './order.ts';
import { orderSchema } from './order.ts';

export interface NewJob {
  readonly id: string;
  readonly key: string | null;
  readonly dedupes: boolean;
  readonly order: Order;
  readonly callbackUrl: string | null;
  readonly acceptedAtMs: number;
}

export type Ending =
  | { readonly status: 'succeeded'; readonly result: ResultFacts }
  | { readonly status: 'failed'; readonly error: string }
  | { readonly status: 'canceled' };

export type Acceptance =
  | { readonly outcome: 'accepted'; readonly job: StudioJob }
  | { readonly outcome: 'replayed'; readonly job: StudioJob };

const jsonText = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema);

const rowSchema = z
  .object({
    id: z.string(),
    key: z.string().nullable(),
    dedupes: z.int(),
    job_order: jsonText(orderSchema),
    callback_url: z.string().nullable(),
    status: statusSchema,
    percent: z.number(),
    stage: z.string(),
    accepted_at: z.int(),
    started_at: z.int().nullable(),
    finished_at: z.int().nullable(),
    cancel_requested_at: z.int().nullable(),
    result: jsonText(resultSchema).nullable(),
    error: z.string().nullable(),
  })
  .transform((row): StudioJob => ({
    id: row.id,
    key: row.key,
    dedupes: row.dedupes === 1,
    order: row.job_order,
    callbackUrl: row.callback_url,
    status: row.status,
    progress: { percent: row.percent, stage: row.stage },
    acceptedAtMs: row.accepted_at,
    startedAtMs: row.started_at,
    finishedAtMs: row.finished_at,
    cancelRequestedAtMs: row.cancel_requested_at,
    result: row.result,
    error: row.error,
  }));

const countersSchema = z.object({ posts: z.int(), max_in_flight: z.int() });
const countSchema = z.object({ count: z.int() });

/** What the studio accepted and would bill. Every method is durable when it returns. */
export class Ledger {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Counts a POST that reached the studio, whatever becomes of it. */
  countPost(): void {
    this.#database.prepare('UPDATE counters SET posts = posts + 1').run();
  }

  /** The check for the key and the insert are one transaction: two posts of one key can't both be accepted. */
  accept(job: NewJob): Acceptance {
    return inTransaction(this.#database, () => {
      const original = job.dedupes && job.key !== null ? this.byKey(job.key) : undefined;
      if (original) return { outcome: 'replayed', job: original };
      this.#insert(job);
      this.#database.prepare('UPDATE counters SET max_in_flight = max(max_in_flight, ?)').run(this.inFlight());
      return { outcome: 'accepted', job: this.existing(job.id) };
    });
  }

  #insert(job: NewJob): void {
    this.#database
      .prepare(
        `INSERT INTO jobs (id, key, dedupes, job_order, callback_url, status, percent, stage, accepted_at)
         VALUES (?, ?, ?, ?, ?, 'queued', 0, 'queued', ?)`,
      )
      .run(job.id, job.key, job.dedupes ? 1 : 0, JSON.stringify(job.order), job.callbackUrl, job.acceptedAtMs);
  }

  begin(id: string, atMs: number): StudioJob {
    this.#database
      .prepare(
        `UPDATE jobs SET status = 'running', stage = 'starting', started_at = ? WHERE id = ? AND status = 'queued'`,
      )
      .run(atMs, id);
    return this.existing(id);
  }

  askToCancel(id: string, atMs: number): StudioJob {
    this.#database
      .prepare(
        'UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, ?) WHERE id = ? AND finished_at IS NULL',
      )
      .run(atMs, id);
    return this.existing(id);
  }

  /** The first ending stands: a finished job never changes. */
  finish(id: string, ending: Ending, progress: Progress, atMs: number): StudioJob {
    this.#database
      .prepare(
        `UPDATE jobs SET status = ?, percent = ?, stage = ?, result = ?, error = ?, finished_at = ?
         WHERE id = ? AND finished_at IS NULL`,
      )
      .run(
        ending.status,
        progress.percent,
        progress.stage,
        ending.status === 'succeeded' ? JSON.stringify(ending.result) : null,
        ending.status === 'failed' ? ending.error : null,
        atMs,
        id,
      );
    return this.existing(id);
  }

  byId(id: string): StudioJob | undefined {
    return this.#jobs('WHERE id = ?', id)[0];
  }

  /** Only jobs that deduplicate are found by their key. */
  byKey(key: string): StudioJob | undefined {
    return this.#jobs('WHERE dedupes = 1 AND key = ?', key)[0];
  }

  /** For an id that this ledger handed out. Throws if it was cleared since. */
  existing(id: string): StudioJob {
    const job = this.byId(id);
    if (!job) throw new Error(`The ledger has no job ${id}.`);
    return job;
  }

  /** In the order in which they were accepted. */
  unfinished(): StudioJob[] {
    return this.#jobs('WHERE finished_at IS NULL');
  }

  all(): StudioJob[] {
    return this.#jobs('');
  }

  /** Jobs accepted and not finished, whether they run or wait. */
  inFlight(): number {
    const row = this.#database.prepare('SELECT count(*) AS count FROM jobs WHERE finished_at IS NULL').get();
    return countSchema.parse(row).count;
  }

  counters(): { posts: number; maxInFlight: number } {
    const row = countersSchema.parse(this.#database.prepare('SELECT posts, max_in_flight FROM counters').get());
    return { posts: row.posts, maxInFlight: row.max_in_flight };
  }

  restartCounters(): void {
    this.#database.prepare('UPDATE counters SET posts = 0, max_in_flight = ?').run(this.inFlight());
  }

  clear(): void {
    inTransaction(this.#database, () => {
      this.#database.exec(
        'DELETE FROM jobs; DELETE FROM owed_webhooks; UPDATE counters SET posts = 0, max_in_flight = 0;',
      );
    });
  }

  #jobs(where: string, ...values: string[]): StudioJob[] {
    const rows = this.#database.prepare(`SELECT * FROM jobs ${where} ORDER BY sequence`).all(...values);
    return z.array(rowSchema).parse(rows);
  }
}
