import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';

/**
 * Signed calls to AWS services without an SDK client: three services for which a client would cost every cold start far
 * more than these lines. Endpoints come from AWS's own variables, as in the SDK.
 */
export type AwsService = 's3' | 'secretsmanager' | 'events';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** What Lambda sets: AWS_REGION, AWS_ACCESS_KEY_ID…, and AWS_ENDPOINT_URL_<SERVICE> where AWS itself is not meant. */
export type AwsVariables = Readonly<Record<string, string | undefined>>;

export interface AwsRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'HEAD' | 'DELETE';
  /** Absolute, each segment percent-encoded as it goes over the wire. */
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** From connecting to the last byte of the body read by the caller. */
  readonly timeoutMs?: number;
}

export interface AwsAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

const DEFAULT_TIMEOUT_MS = 10_000;

const ENDPOINT_VARIABLE: Readonly<Record<AwsService, string>> = {
  s3: 'AWS_ENDPOINT_URL_S3',
  secretsmanager: 'AWS_ENDPOINT_URL_SECRETS_MANAGER',
  events: 'AWS_ENDPOINT_URL_EVENTBRIDGE',
};

class Sha256 {
  readonly #hash;
  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(key));
  }
  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }
  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data, 'utf8');
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** @throws Error where a variable that every Lambda has is missing. */
function required(variables: AwsVariables, name: string): string {
  const value = variables[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
}

export const awsRegion = (variables: AwsVariables = process.env): string => required(variables, 'AWS_REGION');

export function awsCredentials(variables: AwsVariables = process.env): AwsCredentials {
  const sessionToken = variables['AWS_SESSION_TOKEN'];
  return {
    accessKeyId: required(variables, 'AWS_ACCESS_KEY_ID'),
    secretAccessKey: required(variables, 'AWS_SECRET_ACCESS_KEY'),
    ...(sessionToken ? { sessionToken } : {}),
  };
}

/** The service's endpoint that the environment names, if it names one. Without a trailing slash. */
export function customEndpoint(service: AwsService, variables: AwsVariables = process.env): string | undefined {
  const named = variables[ENDPOINT_VARIABLE[service]] ?? variables['AWS_ENDPOINT_URL'];
  return named === undefined || named === '' ? undefined : named.replace(/\/+$/, '');
}

export const awsEndpoint = (service: AwsService, variables: AwsVariables = process.env): string =>
  customEndpoint(service, variables) ?? `https://${service}.${awsRegion(variables)}.amazonaws.com`;

/** S3 signs the path as sent, every other service signs it encoded once more. */
export const awsSigner = (service: AwsService, variables: AwsVariables = process.env): SignatureV4 =>
  new SignatureV4({
    service,
    region: awsRegion(variables),
    credentials: awsCredentials(variables),
    sha256: Sha256,
    uriEscapePath: service !== 's3',
  });

/** A URL in the parts that the signer takes. */
export function signableRequest(
  method: AwsRequest['method'],
  url: URL,
  headers: Readonly<Record<string, string>> = {},
) {
  return {
    method,
    protocol: url.protocol,
    hostname: url.hostname,
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: { ...headers, host: url.host },
  };
}

/**
 * Signs and sends one request, once: whether it may be repeated is the caller's to know.
 * @throws TypeError | DOMException where no answer came (no connection, reset, or the timeout). An HTTP error is an answer.
 */
export async function signedFetch(
  service: AwsService,
  request: AwsRequest,
  variables: AwsVariables = process.env,
): Promise<AwsAnswer> {
  const { method, url, headers, body, timeoutMs = DEFAULT_TIMEOUT_MS } = request;
  const unsigned = { ...signableRequest(method, url, headers), ...(body === undefined ? {} : { body }) };
  const { host: _, ...signed } = (await awsSigner(service, variables).sign(unsigned)).headers;
  const response = await fetch(url, {
    method,
    headers: signed,
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  });
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}
