import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { eventually } from './eventually.ts';

/** `requests`: nothing reaches the bus. `answers`: all of it does, and nobody learns that it did. */
export type Held = 'requests' | 'answers';

/** The line between the functions and their event bus, on which what is said can be held for ever. */
export class EventLine {
  readonly url: string;
  readonly #server: Server;
  #bus: string | undefined;
  #held: Held | undefined;
  #tried: string[] = [];

  private constructor(server: Server, handle: (line: EventLine) => void) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    handle(this);
  }

  static async start(): Promise<EventLine> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new EventLine(server, (line) => {
      server.on('request', (request, response) => void line.#carry(request, response));
    });
  }

  leadTo(bus: string): void {
    this.#bus = bus;
  }

  /** From now on, until it is let go. */
  hold(held: Held): void {
    this.#held = held;
    this.#tried = [];
  }

  /** What is held now is lost; what comes later passes. */
  letGo(): void {
    this.#held = undefined;
    this.#server.closeAllConnections();
  }

  /** Waits until somebody is about to tell the bus of this job, or has told it and waits for the answer. */
  async isTold(jobId: string): Promise<void> {
    await eventually(`${jobId} is announced`, () => this.#tried.some((said) => said.includes(jobId)) || undefined, {
      everyMs: 10,
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #carry(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const held = this.#held;
    if (held !== 'requests') {
      const answer = await this.#tell(request, body);
      if (held === undefined) return void response.writeHead(answer.status, answer.headers).end(answer.body);
    }
    this.#tried.push(body);
  }

  async #tell({ headers }: IncomingMessage, body: string) {
    if (this.#bus === undefined) throw new Error('The line leads nowhere yet.');
    const { authorization = '', 'x-amz-target': target } = headers;
    const answer = await fetch(this.#bus, {
      method: 'POST',
      headers: { authorization, 'x-amz-target': String(target), 'content-type': 'application/x-amz-json-1.1' },
      body,
    });
    const contentType = answer.headers.get('content-type') ?? '';
    return { status: answer.status, headers: { 'content-type': contentType }, body: await answer.text() };
  }
}
