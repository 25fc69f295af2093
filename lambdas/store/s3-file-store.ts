import type { Clock, FileStore, StoredFile, Waiting } from '../domain/ports.ts';
import {
  awsRegion,
  awsSigner,
  customEndpoint,
  signableRequest,
  signedFetch,
  type AwsAnswer,
  type AwsRequest,
  type AwsVariables,
} from '../runtime/signed-fetch.ts';
import { signUpload, type SignedUpload, type UploadLimits } from './s3-signed-upload.ts';

export interface ListedFile {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** As S3 gives it, quotes included. */
  readonly etag: string;
  readonly modifiedAtMs: number;
}

export interface FileHead extends ListedFile {
  readonly contentType: string;
}

export type ReadFile = FileHead & StoredFile;

/** `changed`: the source is no longer what bore that ETag. */
export type CopyOutcome = 'copied' | 'changed' | 'missing';

export interface DownloadOptions {
  readonly expiresInSeconds: number;
  readonly contentType: string;
  /** What the saved file is called; pictures of users are downloaded, never opened as a page. */
  readonly fileName: string;
}

export interface S3FileStoreSettings {
  readonly bucket: string;
  readonly clock: Clock;
  readonly waiting: Waiting;
  readonly variables?: AwsVariables;
}

const TRIES = 3;
const FIRST_PAUSE_MS = 100;
const TIMEOUT_MS = 30_000;
const DELETES_AT_ONCE = 8;
const NEVER_ABORTED = new AbortController().signal;

type ObjectRequest = Omit<AwsRequest, 'url' | 'timeoutMs'> & { readonly url: URL };

/**
 * Pictures in one S3 bucket, by plain HTTP. Every operation here may be repeated without harm, so each is tried up to
 * three times; what still fails throws.
 */
export class S3FileStore implements FileStore {
  readonly #bucket: string;
  readonly #clock: Clock;
  readonly #waiting: Waiting;
  readonly #variables: AwsVariables;

  constructor({ bucket, clock, waiting, variables = process.env }: S3FileStoreSettings) {
    this.#bucket = bucket;
    this.#clock = clock;
    this.#waiting = waiting;
    this.#variables = variables;
  }

  async put(key: string, bytes: Uint8Array, contentType: string): Promise<void> {
    const headers = { 'content-type': contentType };
    const answer = await this.#send({ method: 'PUT', url: this.#urlOf(key), headers, body: bytes });
    expectStatus(answer, [200], 'PUT');
  }

  async get(key: string): Promise<ReadFile | undefined> {
    const answer = await this.#send({ method: 'GET', url: this.#urlOf(key) });
    if (await this.#isMissing(key, answer)) return undefined;
    expectStatus(answer, [200], 'GET');
    return { ...headOf(key, answer), bytes: answer.body, size: answer.body.length };
  }

  async head(key: string): Promise<FileHead | undefined> {
    const answer = await this.#send({ method: 'HEAD', url: this.#urlOf(key) });
    if (await this.#isMissing(key, answer)) return undefined;
    expectStatus(answer, [200], 'HEAD');
    return headOf(key, answer);
  }

  /** Copies exactly the bytes that bore this ETag, so that what was validated is what is kept. */
  async copy(from: string, etag: string, to: string): Promise<CopyOutcome> {
    const answer = await this.#send({
      method: 'PUT',
      url: this.#urlOf(to),
      headers: {
        'x-amz-copy-source': `/${this.#bucket}/${encodeKey(from)}`,
        'x-amz-copy-source-if-match': etag,
      },
    });
    if (await this.#isMissing(from, answer)) return 'missing';
    if (answer.status === 412) return 'changed';
    expectStatus(answer, [200], 'copy');
    return 'copied';
  }

  /** Deleting what is not there succeeds. */
  async delete(key: string): Promise<void> {
    const answer = await this.#send({ method: 'DELETE', url: this.#urlOf(key) });
    expectStatus(answer, [200, 204, 404], 'DELETE');
  }

  /** Everything whose key begins so, in key order, page by page. */
  async *list(prefix: string): AsyncGenerator<ListedFile> {
    let continuation: string | undefined;
    do {
      const url = new URL(this.#bucketUrl());
      url.searchParams.set('list-type', '2');
      url.searchParams.set('encoding-type', 'url');
      url.searchParams.set('prefix', prefix);
      if (continuation !== undefined) url.searchParams.set('continuation-token', continuation);
      const answer = await this.#send({ method: 'GET', url });
      expectStatus(answer, [200], 'list');
      const page = answer.body.toString('utf8');
      for (const [, entry = ''] of page.matchAll(/<Contents>(.*?)<\/Contents>/gs)) yield listedFile(entry);
      continuation = element(page, 'NextContinuationToken');
    } while (continuation !== undefined);
  }

  /** @returns how many files there were. */
  async deletePrefix(prefix: string): Promise<number> {
    let deleted = 0;
    let batch: string[] = [];
    const flush = async (): Promise<void> => {
      await Promise.all(batch.map((key) => this.delete(key)));
      deleted += batch.length;
      batch = [];
    };
    for await (const { key } of this.list(prefix)) {
      batch.push(key);
      if (batch.length === DELETES_AT_ONCE) await flush();
    }
    await flush();
    return deleted;
  }

  /** A link that lets anyone who has it read this one file until it expires (seconds, at most a week). */
  async signDownload(key: string, options: DownloadOptions): Promise<{ url: string; expiresAtMs: number }> {
    const nowMs = this.#clock.now();
    const url = this.#urlOf(key);
    url.searchParams.set('response-content-type', options.contentType);
    url.searchParams.set('response-content-disposition', `attachment; filename="${safeFileName(options.fileName)}"`);
    const request = signableRequest('GET', url, { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' });
    const signed = await awsSigner('s3', this.#variables).presign(request, {
      expiresIn: options.expiresInSeconds,
      signingDate: new Date(nowMs),
    });
    url.search = Object.entries(signed.query ?? {})
      .map(([name, value]) => `${encodePart(name)}=${encodePart(String(value))}`)
      .join('&');
    return { url: url.href, expiresAtMs: nowMs + options.expiresInSeconds * 1000 };
  }

  /** A form with which anyone who has it can store one file of this key, type and size, until it expires. */
  async signUpload(key: string, limits: UploadLimits): Promise<SignedUpload> {
    encodeKey(key);
    const target = { bucket: this.#bucket, bucketUrl: this.#bucketUrl(), key };
    return signUpload(target, limits, this.#clock.now(), this.#variables);
  }

  /**
   * Whether this answer means that no such file is there. S3 says 404 only to those who may list the whole bucket; to our
   * functions, which may list under their own prefixes, it says 403, as it would for a missing permission.
   */
  async #isMissing(key: string, answer: AwsAnswer): Promise<boolean> {
    if (answer.status !== 403) return answer.status === 404;
    for await (const file of this.list(key)) return file.key !== key;
    return true;
  }

  /** Path-style where another endpoint is named, since its host name can't carry the bucket's. */
  #bucketUrl(): string {
    const custom = customEndpoint('s3', this.#variables);
    if (custom !== undefined) return `${custom}/${this.#bucket}`;
    return `https://${this.#bucket}.s3.${awsRegion(this.#variables)}.amazonaws.com/`;
  }

  #urlOf(key: string): URL {
    return new URL(`${this.#bucketUrl().replace(/\/$/, '')}/${encodeKey(key)}`);
  }

  async #send(request: ObjectRequest): Promise<AwsAnswer> {
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.#attempt(request);
      if (outcome.kind === 'answered') return outcome.answer;
      if (tries === TRIES) throw new Error(`S3 ${request.method} failed ${tries} times`, { cause: outcome.error });
      await this.#waiting.wait(FIRST_PAUSE_MS * 2 ** (tries - 1), NEVER_ABORTED);
    }
  }

  async #attempt(request: ObjectRequest): Promise<Attempt> {
    try {
      const answer = await signedFetch('s3', { ...request, timeoutMs: TIMEOUT_MS }, this.#variables);
      // A copy that fails half-way says so in the body of a 200.
      const failedCopy = answer.status === 200 && request.method === 'PUT' && answer.body.includes('<Error>');
      if (answer.status < 500 && answer.status !== 429 && !failedCopy) return { kind: 'answered', answer };
      return { kind: 'failed', error: new Error(`S3 answered ${answer.status} ${errorCode(answer)}`) };
    } catch (error) {
      return { kind: 'failed', error };
    }
  }
}

type Attempt =
  | { readonly kind: 'answered'; readonly answer: AwsAnswer }
  | { readonly kind: 'failed'; readonly error: unknown };

const encodePart = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

/** @throws Error for a key whose dots a URL would resolve away: it would name another owner's file. */
function encodeKey(key: string): string {
  const segments = key.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw new Error('A key must not have empty or dot segments');
  }
  return segments.map(encodePart).join('/');
}

const safeFileName = (name: string): string => name.replace(/[^\w.-]/g, '_');

function header(answer: AwsAnswer, name: string): string {
  const value = answer.headers.get(name);
  if (value === null) throw new Error(`S3 sent no ${name}`);
  return value;
}

function headOf(key: string, answer: AwsAnswer): FileHead {
  return {
    key,
    size: Number(header(answer, 'content-length')),
    contentType: answer.headers.get('content-type') ?? 'application/octet-stream',
    etag: header(answer, 'etag'),
    modifiedAtMs: Date.parse(header(answer, 'last-modified')),
  };
}

function expectStatus(answer: AwsAnswer, expected: readonly number[], operation: string): void {
  if (!expected.includes(answer.status)) {
    throw new Error(`S3 answered ${answer.status} ${errorCode(answer)} to ${operation}`);
  }
}

const errorCode = (answer: AwsAnswer): string => element(answer.body.toString('utf8'), 'Code') ?? '';

const XML_ENTITY: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
  '&amp;': '&',
  '&#34;': '"',
  '&#39;': "'",
};

function element(xml: string, name: string): string | undefined {
  const raw = new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(xml)?.[1];
  return raw?.replace(/&(?:lt|gt|quot|apos|amp|#34|#39);/g, (entity) => XML_ENTITY[entity] ?? entity);
}

function listedFile(xml: string): ListedFile {
  const text = (name: string): string => {
    const value = element(xml, name);
    if (value === undefined) throw new Error(`S3 listed a file without ${name}`);
    return value;
  };
  return {
    key: decodeURIComponent(text('Key').replace(/\+/g, ' ')),
    size: Number(text('Size')),
    etag: text('ETag'),
    modifiedAtMs: Date.parse(text('LastModified')),
  };
}
