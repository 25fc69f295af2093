import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { networkInterfaces } from 'node:os';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { closeServer } from '../stores/json-service.ts';
import { sendJson } from './http-body.ts';
import { refuse } from './socket-api.ts';

export interface FrontHandlers {
  request(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void>;
}

export interface FrontOptions {
  readonly host: string;
  readonly port: number;
  /** What clients reach this machine by; by default this host, or its address in the local network. */
  readonly publicUrl: string | undefined;
}

/** The one port that clients need: HTTP API, sockets, and the pictures' signed links. Until it serves, it answers 503. */
export class Front {
  readonly publicUrl: string;
  readonly loopbackUrl: string;
  readonly #server: Server;
  #handlers: FrontHandlers | undefined;

  private constructor(server: Server, options: FrontOptions) {
    this.#server = server;
    const { port } = server.address() as AddressInfo;
    this.loopbackUrl = `http://127.0.0.1:${port}`;
    this.publicUrl = (options.publicUrl ?? `http://${reachableHost(options.host)}:${port}`).replace(/\/$/, '');
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.#request(request, response));
    server.on(
      'upgrade',
      (request: IncomingMessage, stream: Duplex, head: Buffer) => void this.#upgrade(request, stream, head),
    );
  }

  static async listen(options: FrontOptions): Promise<Front> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, options)));
      server.listen(options.port, options.host, resolve);
    });
    return new Front(server, options);
  }

  serve(handlers: FrontHandlers): void {
    this.#handlers = handlers;
  }

  async stop(): Promise<void> {
    await closeServer(this.#server);
  }

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (this.#handlers === undefined) return sendJson(response, 503, { message: 'Service Unavailable' });
      await this.#handlers.request(request, response);
    } catch (error) {
      if (request.destroyed && !request.complete) return;
      console.error(`${request.method} ${request.url}:`, error);
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { message: 'Internal Server Error' });
    }
  }

  async #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    try {
      if (this.#handlers === undefined) return refuse(stream, 503, 'Service Unavailable');
      await this.#handlers.upgrade(request, stream, head);
    } catch (error) {
      console.error(`Upgrade of ${request.url}:`, error);
      refuse(stream, 500, 'Internal Server Error');
    }
  }
}

function explain(error: NodeJS.ErrnoException, { host, port }: FrontOptions): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new Error(`Port ${port} is taken: set PORT to another one.`);
    case 'EACCES':
      return new Error(`Port ${port} is not for everybody: set PORT to one above 1023.`);
    case 'ENOTFOUND':
    case 'EADDRNOTAVAIL':
    case 'EAI_AGAIN':
      return new Error(`HOST is ${host}, which is no address of this machine.`);
    default:
      return error;
  }
}

/** A phone can't reach 0.0.0.0: it gets this machine's first address in a network. */
function reachableHost(host: string): string {
  if (host !== '0.0.0.0' && host !== '::') return host.includes(':') ? `[${host}]` : host;
  const addresses = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  return addresses.find((one) => one.family === 'IPv4' && !one.internal)?.address ?? '127.0.0.1';
}
