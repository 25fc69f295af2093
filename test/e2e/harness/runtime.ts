import * as z from 'zod';
import { eventually } from './eventually.ts';

const callsSchema = z.record(z.string(), z.record(z.string(), z.number()));
export type Calls = z.infer<typeof callsSchema>;

const eventsSchema = z.object({
  events: z.array(
    z.object({
      'detail-type': z.string(),
      source: z.string(),
      detail: z.looseObject({ id: z.string(), jobId: z.string() }),
    }),
  ),
  next: z.number(),
});
export type PublishedEvent = z.infer<typeof eventsSchema>['events'][number];

/** The machine under the app: what AWS's console would show, and a way to crash a worker. */
export class Runtime {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** AWS calls by function, since the last reset. */
  async calls(): Promise<Calls> {
    return callsSchema.parse(await this.#control('GET', 'calls'));
  }

  async resetCalls(): Promise<void> {
    await this.#control('DELETE', 'calls');
  }

  /** Everything published on the bus. */
  async events(): Promise<PublishedEvent[]> {
    return eventsSchema.parse(await this.#control('GET', 'events')).events;
  }

  /** One tick of the schedule, now. */
  async reconcile(): Promise<void> {
    await this.#control('POST', 'invoke/reconcile-jobs', {});
  }

  /** Crashes the running environments of a function, or so many of them. @returns how many there were. */
  async kill(name: string, most?: number): Promise<number> {
    const killed = await this.#control('POST', 'kill', { function: name, most });
    return z.object({ killed: z.number() }).parse(killed).killed;
  }

  /**
   * Waits until no function runs and no ring waits for one: a worker still tells and tidies after its job is seen to be
   * done. What crashed is left aside: nobody takes a dead letter.
   */
  async rest(): Promise<void> {
    await eventually('every function rests', async () => {
      const all = await this.#functions();
      // In this order: a ring that was there while no function ran is still there, or what it led to is.
      return all.every(({ inFlight }) => inFlight === 0) && (await this.#rings()) === 0 ? true : undefined;
    });
  }

  async workerName(): Promise<string> {
    const all = await this.#functions();
    const worker = all.find(({ name }) => name.startsWith('dispatch-job'));
    if (worker === undefined) throw new Error(`No worker among ${all.map(({ name }) => name).join(', ')}`);
    return worker.name;
  }

  async killWorkers(most?: number): Promise<number> {
    return await this.kill(await this.workerName(), most);
  }

  /** Waits until a worker runs, then crashes it. */
  async killNextWorker(): Promise<void> {
    const name = await this.workerName();
    await eventually('a worker runs', async () => ((await this.kill(name)) > 0 ? true : undefined));
  }

  async #rings(): Promise<number> {
    const depths = z.record(z.string(), z.object({ ready: z.number(), inFlight: z.number(), delayed: z.number() }));
    const queues = Object.entries(depths.parse(await this.#control('GET', 'queues')));
    return queues
      .filter(([name]) => !name.includes('DeadLetters'))
      .reduce((sum, [, { ready, inFlight, delayed }]) => sum + ready + inFlight + delayed, 0);
  }

  async #functions() {
    const functions = z.array(z.object({ name: z.string(), inFlight: z.number() }));
    return functions.parse(await this.#control('GET', 'functions'));
  }

  async #control(method: string, route: string, body?: unknown): Promise<unknown> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${this.#url}/_local/${route}`, { method, ...init });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`The runtime answers ${answer.status} to ${method} ${route}: ${text}`);
    return JSON.parse(text);
  }
}
