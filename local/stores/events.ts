import { randomUUID } from 'node:crypto';
import { createReadStream, type WriteStream, createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import type { CallLedger } from '../runtime/calls.ts';
import type { Permissions } from '../runtime/permissions.ts';
import { accountId } from '../runtime/resolve.ts';
import { serveJsonService, ServiceError, type JsonRequest, type LoopbackServer } from './json-service.ts';

/** An event as its subscribers get it. */
export interface BusEvent {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  readonly account: string;
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  readonly detail: unknown;
  /** Name of the bus; not part of what subscribers get on AWS. */
  readonly bus: string;
}

const entrySchema = z.object({
  Source: z.string().min(1),
  DetailType: z.string().min(1),
  Detail: z.string(),
  EventBusName: z.string().default('default'),
  Time: z.number().optional(),
  Resources: z.array(z.string()).default([]),
});

export interface EventsOptions {
  readonly dataFolder: string;
  readonly region: string;
  readonly permissions: () => Permissions;
  readonly calls: CallLedger;
}

/** EventBridge's PutEvents. What was published stays in a log of the data folder: the bus's one durable subscriber. */
export class EventStore {
  readonly #options: EventsOptions;
  readonly #events: BusEvent[];
  readonly #log: WriteStream;
  readonly #subscribers: ((event: BusEvent) => void)[] = [];
  readonly #buses = new Set(['default']);
  #server: LoopbackServer | undefined;

  private constructor(options: EventsOptions, events: BusEvent[], log: WriteStream) {
    this.#options = options;
    this.#events = events;
    this.#log = log;
  }

  static async start(options: EventsOptions): Promise<EventStore> {
    await mkdir(options.dataFolder, { recursive: true });
    const file = path.join(options.dataFolder, 'events.jsonl');
    const log = createWriteStream(file, { flags: 'a' });
    await new Promise<void>((resolve, reject) => log.once('open', () => resolve()).once('error', reject));
    const store = new EventStore(options, await readLog(file), log);
    // A line that a kill cut off must not swallow the next one.
    log.write('\n');
    store.#server = await serveJsonService((request) => store.#handle(request));
    return store;
  }

  get url(): string {
    if (this.#server === undefined) throw new Error('The event store is not started.');
    return this.#server.url;
  }

  addBus(name: string): void {
    this.#buses.add(name);
  }

  subscribe(receive: (event: BusEvent) => void): void {
    this.#subscribers.push(receive);
  }

  /** Events after a position, and the position to ask from next time. */
  after(position: number): { events: readonly BusEvent[]; next: number } {
    return { events: this.#events.slice(position), next: this.#events.length };
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    await new Promise<void>((resolve) => this.#log.end(() => resolve()));
  }

  async #handle({ caller, operation, body }: JsonRequest): Promise<unknown> {
    this.#options.calls.record(caller, `events.${operation}`);
    if (operation !== 'PutEvents')
      throw new ServiceError(400, 'UnknownOperationException', `The local EventBridge has no ${operation}.`);
    const { Entries } = z.object({ Entries: z.array(z.unknown()).min(1).max(10) }).parse(body);
    const results = await Promise.all(Entries.map((entry) => this.#publish(caller, entry)));
    return { FailedEntryCount: results.filter((one) => 'ErrorCode' in one).length, Entries: results };
  }

  /** A refused entry is a result, not an error: PutEvents answers 200 with it. */
  async #publish(
    caller: string,
    entry: unknown,
  ): Promise<{ EventId: string } | { ErrorCode: string; ErrorMessage: string }> {
    const parsed = entrySchema.safeParse(entry);
    if (!parsed.success) return { ErrorCode: 'InvalidArgument', ErrorMessage: parsed.error.message };
    const { Source, DetailType, Detail, EventBusName, Time, Resources } = parsed.data;
    const bus = EventBusName.split('/').at(-1) ?? EventBusName;
    const { region } = this.#options;
    const arn = `arn:aws:events:${region}:${accountId}:event-bus/${bus}`;
    const refusal = this.#options.permissions().refusal(caller, { action: 'events:PutEvents', resources: [arn] });
    if (refusal !== undefined) throw new ServiceError(400, 'AccessDeniedException', refusal);
    if (!this.#buses.has(bus)) return { ErrorCode: 'ResourceNotFoundException', ErrorMessage: `No bus ${bus}` };
    const detail = parseDetail(Detail);
    if (detail === undefined) return { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' };
    const event: BusEvent = {
      version: '0',
      id: randomUUID(),
      'detail-type': DetailType,
      source: Source,
      account: accountId,
      time: new Date(Time === undefined ? Date.now() : Time * 1000).toISOString(),
      region,
      resources: Resources,
      detail,
      bus,
    };
    await new Promise<void>((resolve, reject) => {
      this.#log.write(`${JSON.stringify(event)}\n`, (error) => (error ? reject(error) : resolve()));
    });
    this.#events.push(event);
    for (const receive of this.#subscribers) receive(event);
    return { EventId: event.id };
  }
}

function parseDetail(text: string): object | undefined {
  try {
    const detail: unknown = JSON.parse(text);
    return typeof detail === 'object' && detail !== null ? detail : undefined;
  } catch {
    return undefined;
  }
}

/** A last line that was cut off by a kill was never acknowledged: it is left out. */
async function readLog(file: string): Promise<BusEvent[]> {
  const events: BusEvent[] = [];
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const event = parseDetail(line);
    if (event !== undefined) events.push(event as BusEvent);
  }
  return events;
}
