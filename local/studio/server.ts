import type { Server } from 'node:http';
import { createServer } from 'node:http';

import type { Exchange } from './answer.ts';
import { answerError, dropConnection } from './answer.ts';

export type Serve = (exchange: Exchange, pathname: string) => Promise<void>;

/** Listens and gives the port; `serve` is asked for each request. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return address.port;
}

export function makeServer(serve: Serve): Server {
  return createServer((request, response) => {
    const exchange: Exchange = { request, response };
    const [pathname = '/'] = (request.url ?? '/').split('?');
    serve(exchange, pathname).catch((error: unknown) => {
      // A caller that hung up in mid-body broke nothing; everything else is worth reading.
      if (!request.complete && request.destroyed) return;
      console.error(`studio: ${request.method} ${pathname} broke`, error);
      if (response.headersSent) dropConnection(exchange);
      else answerError(exchange, 500, 'The studio broke down.');
    });
  });
}

/** Cuts every connection, those that a fault holds too. */
export async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));
  server.closeAllConnections();
  await closed;
}
