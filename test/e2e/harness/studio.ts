import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { faultSchema } from '../../../local/studio/fault.ts';
import { ensureStudio, type RunningStudio } from '../../../local/studio-process.ts';
import { eventually } from './eventually.ts';

const ledgerSchema = z.object({
  accepted: z.array(
    z.object({
      vendorJobId: z.string(),
      key: z.string().nullable(),
      feature: z.string(),
      acceptedAt: z.string(),
      status: z.enum(['queued', 'running', 'succeeded', 'failed', 'canceled']),
      finishedAt: z.string().nullable(),
    }),
  ),
  inFlight: z.number(),
  maxInFlight: z.number(),
  posts: z.number(),
});
export type Ledger = z.infer<typeof ledgerSchema>;
export type VendorJob = Ledger['accepted'][number];

export type Fault = z.input<typeof faultSchema>;

const postedSchema = z.object({ faults: z.array(z.object({ fault: faultSchema, timesLeft: z.number().nullable() })) });
export type PostedFault = z.infer<typeof postedSchema>['faults'][number];

/** The embedded vendor, from behind: its books, and the levers that make it misbehave. */
export class Studio {
  readonly url: string;
  readonly #dataFolder: string;
  #restarted: RunningStudio | undefined;

  constructor(url: string, dataFolder: string) {
    this.url = url;
    this.#dataFolder = dataFolder;
  }

  async ledger(): Promise<Ledger> {
    return ledgerSchema.parse(await this.#control('GET', 'ledger'));
  }

  /** What was accepted for one of our jobs, in order. */
  async acceptedFor(jobId: string): Promise<VendorJob[]> {
    const { accepted } = await this.ledger();
    return accepted.filter(({ key }) => key?.startsWith(`${jobId}.`));
  }

  async fault(fault: Fault): Promise<void> {
    await this.#control('POST', 'faults', fault);
  }

  async clearFaults(): Promise<void> {
    await this.#control('DELETE', 'faults');
  }

  /** Those that are still on; `timesLeft` is null where nothing but clearing ends it. */
  async faults(): Promise<PostedFault[]> {
    return postedSchema.parse(await this.#control('GET', 'faults')).faults;
  }

  /** Waits until every fault of the point that strikes a number of times has struck as often. */
  async struck(point: Fault['point']): Promise<void> {
    await eventually(`all faults at ${point} have struck`, async () => {
      const left = (await this.faults()).filter(({ fault, timesLeft }) => fault.point === point && timesLeft !== null);
      return left.length === 0 || undefined;
    });
  }

  /** Ends the runs that faults draw out just now. */
  async hurry(): Promise<void> {
    await this.#control('POST', 'hurry');
  }

  async restartCounters(): Promise<void> {
    await this.#control('DELETE', 'ledger');
  }

  /** Which keys open it from now on, until it starts again. */
  async allowKeys(...apiKeys: string[]): Promise<void> {
    await this.#control('PUT', 'api-keys', { apiKeys });
  }

  /** As a studio that never had a customer. */
  async reset(): Promise<void> {
    await this.#control('POST', 'reset');
  }

  async stop(): Promise<void> {
    const pid = await this.#pid();
    process.kill(pid, 'SIGKILL');
    await eventually('the studio is gone', () => (isAlive(pid) ? undefined : true));
  }

  /** On its old port, with its ledger. */
  async start(): Promise<void> {
    const port = Number(new URL(this.url).port);
    this.#restarted = await ensureStudio({ dataFolder: this.#dataFolder, host: '127.0.0.1', port });
  }

  /** The environment ends only the studio that it began with. */
  async end(): Promise<void> {
    await this.#restarted?.stop();
  }

  /** Once the studio starts again, it knows only this key. */
  async rotateKey(apiKey: string): Promise<void> {
    const file = path.join(this.#dataFolder, 'studio/secret.json');
    const secret = z.object({ webhookSecret: z.string() }).parse(JSON.parse(await readFile(file, 'utf8')));
    await writeFile(file, JSON.stringify({ ...secret, apiKey }), { mode: 0o600 });
  }

  async #pid(): Promise<number> {
    const file = path.join(this.#dataFolder, 'studio/process.json');
    return z.object({ pid: z.number() }).parse(JSON.parse(await readFile(file, 'utf8'))).pid;
  }

  async #control(method: string, route: string, body?: unknown): Promise<unknown> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${this.url}/control/${route}`, { method, ...init });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`The studio answers ${answer.status} to ${method} ${route}: ${text}`);
    return JSON.parse(text);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
