import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What happens once the whole request was read, which is when a vendor may have begun to work and to bill. */
export type Loss = 'drop' | 500 | 503;

/** A vendor whose answers are all lost in one way. It counts what it was asked for. */
export class LossyVendor {
  posts = 0;
  readonly keys = new Set<string>();
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  private constructor(loss: Loss) {
    this.server = createServer((request, response) => {
      request.resume().on('end', () => {
        this.count(request);
        if (loss === 'drop') request.socket.destroy();
        else response.writeHead(loss, { 'content-type': 'application/json' }).end('{"error":"the answer was lost"}');
      });
    });
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  static async start(loss: Loss): Promise<LossyVendor> {
    const vendor = new LossyVendor(loss);
    await new Promise<void>((listening) => vendor.server.listen(0, '127.0.0.1', listening));
    return vendor;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((done) => this.server.close(done));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private count({ method, headers }: IncomingMessage): void {
    if (method !== 'POST') return;
    this.posts += 1;
    const key = headers['idempotency-key'];
    if (typeof key === 'string') this.keys.add(key);
  }
}
