import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A server at the level of bytes: it counts what it read, and answers, or dies, exactly when its script says. */
export interface TcpVendor {
  readonly port: number;
  readonly connections: number;
  /** Whole requests read, bodies included. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

export interface TcpScript {
  /** Called once per connection, before anything is read. */
  readonly onConnect?: (socket: Socket) => void;
  /** Called with the head and what has been read of the body, on every packet. */
  readonly onBytes?: (socket: Socket, received: string) => void;
  /** Called when the whole request has been read. */
  readonly onRequest?: (socket: Socket, request: string) => void;
}

export async function startTcpVendor(script: TcpScript): Promise<TcpVendor> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => sockets.delete(socket));
    script.onConnect?.(socket);
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      script.onBytes?.(socket, received);
      if (!isWhole(received)) return;
      requests.push(received);
      const request = received;
      received = '';
      script.onRequest?.(socket, request);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    requests,
    close: () =>
      new Promise((closed) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => closed());
      }),
  };
}

function isWhole(received: string): boolean {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /content-length: (\d+)/i.exec(received.slice(0, end))?.[1] ?? '0';
  return received.length - end - 4 >= Number(length);
}

/** A port on loopback that nothing listens on. */
export async function closedPort(): Promise<number> {
  const vendor = await startTcpVendor({});
  await vendor.close();
  return vendor.port;
}
