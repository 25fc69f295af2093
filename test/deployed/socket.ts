import { once } from 'node:events';
import { WebSocket } from 'ws';
import * as z from 'zod';
import type { Api } from './api.ts';
import { jobSchema } from './jobs.ts';
import { target } from './target.ts';

const messageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('job'), job: jobSchema }),
  z.object({
    type: z.literal('progress'),
    jobId: z.string(),
    percent: z.number().min(0).max(100),
    stage: z.string().nullable(),
    version: z.int().positive(),
  }),
  z.object({ type: z.literal('pong') }),
  z.object({ type: z.literal('problem'), code: z.string(), detail: z.string(), jobId: z.string().optional() }),
]);
export type Message = z.infer<typeof messageSchema>;

const ticketSchema = z.object({ ticket: z.string().min(20), url: z.url(), expiresAt: z.iso.datetime() });

/** The URL of a socket with a fresh ticket. */
export async function socketUrl(api: Api): Promise<string> {
  const answer = await api.call('POST', '/api/v1/socket-tickets');
  if (answer.status !== 201) throw new Error(`No ticket: ${answer.status} ${answer.text}`);
  const { url, ticket } = ticketSchema.parse(answer.json());
  if (target.socketUrl !== undefined && url !== `${target.socketUrl}?ticket=${encodeURIComponent(ticket)}`) {
    throw new Error(`The ticket is for ${new URL(url).origin}, not for ${target.socketUrl}`);
  }
  return url;
}

const messageLimitMs = 60_000;

/** An open socket that keeps what it hears, in order. */
export class Socket {
  readonly heard: Message[] = [];
  readonly #socket: WebSocket;
  #wake: () => void = () => undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer) => {
      this.heard.push(messageSchema.parse(JSON.parse(data.toString('utf8'))));
      this.#wake();
    });
  }

  static async open(url: string): Promise<Socket> {
    const socket = new Socket(new WebSocket(url));
    await once(socket.#socket, 'open');
    return socket;
  }

  /** The HTTP status with which the upgrade is refused. @throws Error where it is not. */
  static async refusal(url: string): Promise<number> {
    const socket = new WebSocket(url);
    socket.on('error', () => undefined);
    const first = await Promise.race([
      once(socket, 'unexpected-response').then(([, response]) => (response as { statusCode: number }).statusCode),
      once(socket, 'open').then(() => 'open' as const),
    ]);
    socket.terminate();
    if (first === 'open') throw new Error('The socket was let in.');
    return first;
  }

  say(message: unknown): void {
    this.#socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** The first message, heard already or yet to come, for which `is` holds. */
  async until<Wanted extends Message>(is: (message: Message) => message is Wanted): Promise<Wanted> {
    const timer = setTimeout(() => this.#wake(), messageLimitMs);
    const giveUpAtMs = Date.now() + messageLimitMs;
    try {
      for (let next = 0; Date.now() < giveUpAtMs;) {
        const message = this.heard[next];
        if (message === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
        else if (is(message)) return message;
        else next += 1;
      }
    } finally {
      clearTimeout(timer);
    }
    throw new Error(`Not heard within ${messageLimitMs / 1000} s; heard: ${JSON.stringify(this.heard)}`);
  }

  close(): void {
    this.#socket.close();
  }
}

export type JobMessage = Extract<Message, { type: 'job' }>;
export type ProblemMessage = Extract<Message, { type: 'problem' }>;

export const isPong = (message: Message): message is Extract<Message, { type: 'pong' }> => message.type === 'pong';
export const isProblem = (message: Message): message is ProblemMessage => message.type === 'problem';
export const isJob = (message: Message): message is JobMessage => message.type === 'job';
export const isDone = (message: Message): message is JobMessage => message.type === 'job' && message.job.done;
