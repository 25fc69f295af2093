import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface AwsCall {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Takes calls to an AWS service and answers by what the test stored; silent while it has nothing to say. */
export class ScriptedAwsServer {
  readonly #server: Server;
  readonly calls: AwsCall[] = [];
  answer: (call: AwsCall) => { status: number; body: string } | 'silence' = () => ({ status: 200, body: '{}' });

  constructor() {
    this.#server = createServer((request, response) => {
      void this.#serve(request, response);
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const call = { method, url, headers, body: await text(request) };
    this.calls.push(call);
    const answer = this.answer(call);
    if (answer !== 'silence') response.writeHead(answer.status).end(answer.body);
  }

  async start(): Promise<string> {
    await new Promise<void>((listening) => this.#server.listen(0, '127.0.0.1', listening));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}
