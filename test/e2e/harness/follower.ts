import { once } from 'node:events';
import { WebSocket } from 'ws';
import type * as z from 'zod';
import { outgoingSchema } from '../../../lambdas/socket/messages.ts';
import { eventually, generousMs } from './eventually.ts';

export type Message = z.infer<typeof outgoingSchema>;

/** A client's socket, and everything that it ever heard. */
export class Follower {
  readonly messages: { readonly message: Message; readonly atMs: number }[] = [];
  readonly #socket: WebSocket;
  #closed: number | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('close', (code) => (this.#closed = code));
    socket.on('message', (data: Buffer) => {
      const message = outgoingSchema.parse(JSON.parse(data.toString('utf8')));
      this.messages.push({ message, atMs: performance.now() });
    });
  }

  /** @throws Error with the HTTP status where the connection is refused. */
  static async open(url: string): Promise<Follower> {
    const socket = new WebSocket(url);
    const follower = new Follower(socket);
    await once(socket, 'open');
    return follower;
  }

  say(command: unknown): void {
    this.#socket.send(JSON.stringify(command));
  }

  follow(...jobIds: string[]): void {
    this.say({ action: 'follow', jobIds });
  }

  async hear<T extends Message>(what: string, wanted: (message: Message) => T | undefined): Promise<T> {
    return await eventually(
      what,
      () => {
        if (this.#closed !== undefined) throw new Error(`The socket was closed with ${this.#closed}: ${what}`);
        return this.messages.map(({ message }) => wanted(message)).find((one) => one !== undefined);
      },
      { withinMs: generousMs, everyMs: 20, seen: () => this.messages.at(-1) },
    );
  }

  async hearDone(jobId: string): Promise<Message & { type: 'job' }> {
    return await this.hear(`job ${jobId} is done`, (message) =>
      message.type === 'job' && message.job.id === jobId && message.job.done ? message : undefined,
    );
  }

  /**
   * The progress that an app shows, by the rules of the contract: an older version never replaces a newer one, and what
   * overtook a snapshot of its own version stays. @param jobId the only job that is shown
   */
  shownPercents(jobId: string): number[] {
    const shown: number[] = [];
    let newest = 0;
    for (const { message } of this.messages) {
      const value = progressIn(message, jobId);
      if (value === undefined || value.version < newest) continue;
      const isOvertaken = value.version === newest && value.percent < (shown.at(-1) ?? 0);
      newest = value.version;
      if (!isOvertaken) shown.push(value.percent);
    }
    return shown;
  }

  close(): void {
    this.#socket.close();
  }
}

function progressIn(message: Message, jobId: string): { version: number; percent: number } | undefined {
  if (message.type === 'progress' && message.jobId === jobId) return message;
  if (message.type !== 'job' || message.job.id !== jobId || message.job.progress === null) return undefined;
  return { version: message.job.version, percent: message.job.progress.percent };
}

/** The HTTP status with which a socket is refused. */
export async function refusalOf(url: string): Promise<number> {
  const socket = new WebSocket(url);
  return await new Promise((resolve, reject) => {
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
    socket.on('open', () => reject(new Error('The socket was opened.')));
    socket.on('error', reject);
  });
}
