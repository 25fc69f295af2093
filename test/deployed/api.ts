import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { target } from './target.ts';

export type Credentials = { readonly kind: 'key'; readonly key: string } | { readonly kind: 'token'; token: string };

export interface Call {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: FormData | string;
  /** Sent as JSON. */
  readonly json?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** @throws SyntaxError where it is not JSON. */
  json(): unknown;
}

/** One caller of the deployed API. */
export class Api {
  readonly #credentials: Credentials | undefined;

  constructor(credentials?: Credentials) {
    this.#credentials = credentials;
  }

  /** The authentication headers, for what `call` can't do. */
  get headers(): Record<string, string> {
    switch (this.#credentials?.kind) {
      case 'key':
        return { 'X-API-Key': this.#credentials.key };
      case 'token':
        return { Authorization: `Bearer ${this.#credentials.token}` };
      case undefined:
        return {};
    }
  }

  /** One request, no redirects followed. */
  async call(method: string, path: string, { headers = {}, body, json }: Call = {}): Promise<Answer> {
    const response = await fetch(`${target.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...this.headers,
        ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(json === undefined ? (body === undefined ? {} : { body }) : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) as unknown };
  }
}

export const anybody = new Api();
export const server = new Api({ kind: 'key', key: target.key });
export const operator = new Api({ kind: 'key', key: target.operatorKey });

const tokenSchema = z.object({ token: z.string(), expiresAt: z.iso.datetime() });

export interface User extends TokenOptions {
  readonly name: string;
  readonly api: Api;
}

interface TokenOptions {
  readonly features?: readonly string[];
}

/** A user of their own, so that no run of the suite meets what another one left. */
export async function newUser(options: TokenOptions = {}): Promise<User> {
  const name = `suite-${randomUUID()}`;
  const answer = await server.call('POST', '/api/v1/client-tokens', {
    json: { user: name, expiresInSeconds: 900, ...options },
  });
  if (answer.status !== 201) throw new Error(`No token was minted: ${answer.status} ${answer.text}`);
  return { name, api: new Api({ kind: 'token', token: tokenSchema.parse(answer.json()).token }), ...options };
}
