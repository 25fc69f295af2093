import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import type * as z from 'zod';

/** Where the rehearsal deploys to, and as whom. */
export interface Account {
  /** For AWS_ENDPOINT_URL, without a trailing slash. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The services that speak AWS's JSON protocols, by the name they are signed with. */
const protocols = {
  dynamodb: { version: '1.0', prefix: 'DynamoDB_20120810' },
  logs: { version: '1.1', prefix: 'Logs_20140328' },
  monitoring: { version: '1.0', prefix: 'GraniteServiceVersion20100801' },
  secretsmanager: { version: '1.1', prefix: 'secretsmanager' },
  sqs: { version: '1.0', prefix: 'AmazonSQS' },
} as const;
export type JsonService = keyof typeof protocols;

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

/** One call as an operator would make it with the AWS CLI. @throws Error with what the service answered, unless 200 */
export async function callAws<Schema extends z.ZodType>(
  { endpoint, region, ...credentials }: Account,
  service: JsonService,
  operation: string,
  input: Readonly<Record<string, unknown>>,
  schema: Schema,
): Promise<z.infer<Schema>> {
  const { version, prefix } = protocols[service];
  const url = new URL(`${endpoint}/`);
  const signer = new SignatureV4({ service, region, credentials, sha256: Sha256 });
  const body = JSON.stringify(input);
  const { headers } = await signer.sign({
    method: 'POST',
    protocol: url.protocol,
    hostname: url.hostname,
    port: Number(url.port),
    path: '/',
    query: {},
    headers: {
      host: url.host,
      'content-type': `application/x-amz-json-${version}`,
      'x-amz-target': `${prefix}.${operation}`,
    },
    body,
  });
  const { host: _, ...sent } = headers;
  const answer = await fetch(url, { method: 'POST', headers: sent, body });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${service} ${operation} answered ${answer.status}: ${text}`);
  return schema.parse(text === '' ? {} : JSON.parse(text));
}
