import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import type { CallLedger } from '../runtime/calls.ts';
import { readBody } from '../runtime/http-body.ts';
import { splitTarget } from '../runtime/http-event.ts';
import type { Call, Permissions } from '../runtime/permissions.ts';
import type { CredentialIssuer } from './credentials.ts';
import { bucketCorsHeaders, type BucketCors } from './s3-cors.ts';
import { errorDocument, S3Error } from './s3-error.ts';
import {
  contentTypeOf,
  isKeptHeader,
  keptHeaders,
  matchesTag,
  objectHeaders,
  overrides,
  readRange,
} from './s3-headers.ts';
import { expireObjects, type Lifecycle } from './s3-lifecycle.ts';
import { listDocument } from './s3-list.ts';
import { ObjectFiles } from './s3-objects.ts';
import { checkPostPolicy, readPostForm } from './s3-post-form.ts';
import { verifyPolicySignature, verifySignature, type VerifiedSignature } from './s3-signature.ts';

export interface S3Options {
  readonly folder: string;
  readonly issuer: CredentialIssuer;
  readonly permissions: () => Permissions;
  readonly calls: CallLedger;
}

/** What the template says of a bucket. */
export interface BucketRules {
  readonly cors?: BucketCors | undefined;
  readonly lifecycle?: Lifecycle | undefined;
}

interface Bucket extends BucketRules {
  readonly name: string;
  readonly objects: ObjectFiles;
}

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: Buffer | string;
}

interface ObjectRequest {
  readonly bucket: Bucket;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly signature: VerifiedSignature;
}

/** What S3 lets one PUT hold is 5 GB; nothing of the product comes near this. */
const objectLimitBytes = 64 * 1024 * 1024;

/** S3's object API, path-style, over files: signatures, grants, POST policies, CORS, ranges and preconditions included. */
export class S3Store {
  readonly #options: S3Options;
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: S3Options) {
    this.#options = options;
  }

  async addBucket(name: string, rules: BucketRules): Promise<void> {
    const objects = await ObjectFiles.open(path.join(this.#options.folder, name));
    this.#buckets.set(name, { name, ...rules, objects });
  }

  /** Applies every bucket's lifecycle rules once; S3 does so once a day. */
  async expire(nowMs: number): Promise<void> {
    for (const { objects, lifecycle } of this.#buckets.values()) {
      if (lifecycle !== undefined) await expireObjects(objects, lifecycle, nowMs);
    }
  }

  /** Whether a request's path names one of the buckets, so that S3 can share a port with the API. */
  owns(target: string): boolean {
    return this.#buckets.has(splitTarget(target).path.split('/')[1] ?? '');
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bucket = this.#buckets.get(splitTarget(request.url ?? '').path.split('/')[1] ?? '');
    const preflight = request.method === 'OPTIONS';
    const asked = preflight ? String(request.headers['access-control-request-method']) : (request.method ?? '');
    const cors = bucketCorsHeaders(bucket?.cors, asked, request.headers);
    const answer = preflight ? answerPreflight(cors) : await this.#answer(bucket, request);
    const body = Buffer.from(answer.body ?? '');
    response.writeHead(answer.status, {
      'x-amz-request-id': randomUUID().replaceAll('-', '').slice(0, 16).toUpperCase(),
      ...(answer.status === 204 || answer.status === 304 ? {} : { 'content-length': String(body.length) }),
      ...cors,
      ...answer.headers,
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  async #answer(bucket: Bucket | undefined, request: IncomingMessage): Promise<Answer> {
    try {
      if (bucket === undefined) throw new S3Error(404, 'NoSuchBucket', 'The specified bucket does not exist');
      const { path: rawPath, query } = splitTarget(request.url ?? '');
      const key = rawPath.split('/').slice(2).map(decodeURIComponent).join('/');
      if (request.method === 'POST' && key === '') return await this.#postForm(bucket, request);
      const signed = { method: request.method ?? '', target: request.url ?? '', headers: request.headers };
      const signature = verifySignature(signed, this.#options.issuer, Date.now());
      const parameters = new URLSearchParams(query);
      return await this.#serve({ bucket, key, query: parameters, request, signature });
    } catch (error) {
      if (!(error instanceof S3Error)) throw error;
      return { status: error.status, headers: { 'content-type': 'application/xml' }, body: errorDocument(error) };
    }
  }

  async #serve(asked: ObjectRequest): Promise<Answer> {
    const { method, headers } = asked.request;
    if (asked.key === '') {
      if (method === 'GET' && asked.query.get('list-type') === '2') return this.#list(asked);
    } else {
      if (method === 'PUT' && headers['x-amz-copy-source'] !== undefined) return await this.#copy(asked);
      if (method === 'PUT') return await this.#put(asked);
      if (method === 'GET') return await this.#get(asked, 'GetObject');
      if (method === 'HEAD') return await this.#get(asked, 'HeadObject');
      if (method === 'DELETE') return await this.#delete(asked);
    }
    throw new S3Error(501, 'NotImplemented', `The local S3 has no ${method} of this kind.`);
  }

  /** Counts the call and holds it to the caller's grants. What a signed link's bearer does is not the function's call. */
  #admit({ signature }: Pick<ObjectRequest, 'signature'>, operation: string, ...calls: Call[]): void {
    this.#options.calls.record(signature.presigned ? 'signed-link' : signature.caller, `s3.${operation}`);
    for (const call of calls) {
      const refusal = this.#options.permissions().refusal(signature.caller, call);
      if (refusal !== undefined) throw new S3Error(403, 'AccessDenied', refusal);
    }
  }

  /** S3 tells only those who may list a bucket that a key isn't there. */
  #missing({ bucket, signature }: ObjectRequest): S3Error {
    const list: Call = { action: 's3:ListBucket', resources: [bucketArn(bucket)] };
    return this.#options.permissions().refusal(signature.caller, list) === undefined
      ? new S3Error(404, 'NoSuchKey', 'The specified key does not exist.')
      : new S3Error(403, 'AccessDenied', 'Access Denied');
  }

  #list(asked: ObjectRequest): Answer {
    const { bucket, query } = asked;
    const prefix = query.get('prefix') ?? '';
    const values = { 's3:prefix': [prefix] };
    this.#admit(asked, 'ListObjectsV2', { action: 's3:ListBucket', resources: [bucketArn(bucket)], values });
    const body = listDocument(bucket.name, bucket.objects.list(prefix), query);
    return { status: 200, headers: { 'content-type': 'application/xml' }, body };
  }

  async #get(asked: ObjectRequest, operation: 'GetObject' | 'HeadObject'): Promise<Answer> {
    const { bucket, key, query, request } = asked;
    this.#admit(asked, operation, objectCall('s3:GetObject', bucket, key));
    const record = bucket.objects.find(key);
    if (record === undefined) throw this.#missing(asked);
    const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
    if (ifMatch !== undefined && !matchesTag(ifMatch, record)) throw preconditionFailed();
    const headers = { ...objectHeaders(record), ...overrides(query) };
    if (ifNoneMatch !== undefined && matchesTag(ifNoneMatch, record)) return { status: 304, headers };
    if (operation === 'HeadObject')
      return { status: 200, headers: { ...headers, 'content-length': String(record.bytes) } };
    const content = await bucket.objects.read(record);
    const range = readRange(request.headers.range, record.bytes);
    if (range === undefined) return { status: 200, headers, body: content };
    const contentRange = `bytes ${range.first}-${range.last}/${record.bytes}`;
    const body = content.subarray(range.first, range.last + 1);
    return { status: 206, headers: { ...headers, 'content-range': contentRange }, body };
  }

  async #put(asked: ObjectRequest): Promise<Answer> {
    const { bucket, key, request, signature } = asked;
    this.#admit(asked, 'PutObject', objectCall('s3:PutObject', bucket, key));
    const content = await readBody(request, objectLimitBytes);
    if (content === undefined) throw new S3Error(400, 'EntityTooLarge', 'The local S3 takes 64 MB at most.');
    checkPayload(signature.payloadHash, content);
    const object = { key, content, contentType: contentTypeOf(request), headers: keptHeaders(request) };
    const { 'if-none-match': ifNoneMatch, 'if-match': ifMatch } = request.headers;
    const record = await bucket.objects.put(object, (existing) => {
      if (ifNoneMatch === '*') return existing === undefined;
      return ifMatch === undefined || (existing !== undefined && matchesTag(ifMatch, existing));
    });
    if (record === undefined) throw preconditionFailed();
    return { status: 200, headers: { etag: `"${record.etag}"` } };
  }

  async #copy(asked: ObjectRequest): Promise<Answer> {
    const { bucket, key, request } = asked;
    const source = decodeURIComponent(String(request.headers['x-amz-copy-source'])).replace(/^\//, '');
    const [sourceName = '', ...rest] = source.split('/');
    const from = this.#buckets.get(sourceName);
    if (from === undefined) throw new S3Error(404, 'NoSuchBucket', 'The specified bucket does not exist');
    const sourceKey = rest.join('/');
    const needed = [objectCall('s3:GetObject', from, sourceKey), objectCall('s3:PutObject', bucket, key)];
    this.#admit(asked, 'CopyObject', ...needed);
    const record = from.objects.find(sourceKey);
    if (record === undefined) throw this.#missing({ ...asked, bucket: from });
    const wantedTag = request.headers['x-amz-copy-source-if-match'];
    if (wantedTag !== undefined && !matchesTag(String(wantedTag), record)) throw preconditionFailed();
    const replaces = request.headers['x-amz-metadata-directive'] === 'REPLACE';
    const content = await from.objects.read(record);
    const copied = await bucket.objects.put(
      {
        key,
        content,
        contentType: replaces ? contentTypeOf(request) : record.contentType,
        headers: replaces ? keptHeaders(request) : record.headers,
      },
      () => true,
    );
    const modified = new Date(copied?.modifiedAtMs ?? Date.now()).toISOString();
    const body = `<?xml version="1.0" encoding="UTF-8"?>\n<CopyObjectResult><LastModified>${modified}</LastModified><ETag>&quot;${copied?.etag}&quot;</ETag></CopyObjectResult>`;
    return { status: 200, headers: { 'content-type': 'application/xml' }, body };
  }

  async #delete(asked: ObjectRequest): Promise<Answer> {
    this.#admit(asked, 'DeleteObject', objectCall('s3:DeleteObject', asked.bucket, asked.key));
    await asked.bucket.objects.delete(asked.key);
    return { status: 204 };
  }

  async #postForm(bucket: Bucket, request: IncomingMessage): Promise<Answer> {
    const form = await readPostForm(request);
    const caller = verifyPolicySignature(form.fields, this.#options.issuer);
    checkPostPolicy(form, bucket.name, Date.now());
    const key = (form.fields.get('key') ?? '').replaceAll('${filename}', form.fileName);
    if (key === '') throw new S3Error(400, 'InvalidArgument', 'The form has no key.');
    const signature: VerifiedSignature = { caller, presigned: true, payloadHash: 'UNSIGNED-PAYLOAD' };
    this.#admit({ signature }, 'PostObject', objectCall('s3:PutObject', bucket, key));
    const contentType = form.fields.get('content-type') ?? 'binary/octet-stream';
    const headers = Object.fromEntries([...form.fields].filter(([name]) => isKeptHeader(name)));
    const record = await bucket.objects.put({ key, content: form.file, contentType, headers }, () => true);
    const location = `/${bucket.name}/${key}`;
    const status = Number(form.fields.get('success_action_status') ?? 204);
    return { status: [200, 201].includes(status) ? status : 204, headers: { etag: `"${record?.etag}"`, location } };
  }
}

const bucketArn = ({ name }: Bucket) => `arn:aws:s3:::${name}`;

const objectCall = (action: string, bucket: Bucket, key: string): Call => ({
  action,
  resources: [`${bucketArn(bucket)}/${key}`],
});

function answerPreflight(cors: Record<string, string> | undefined): Answer {
  if (cors !== undefined) return { status: 200 };
  const refusal = new S3Error(403, 'AccessForbidden', 'CORSResponse: This CORS request is not allowed.');
  return { status: 403, headers: { 'content-type': 'application/xml' }, body: errorDocument(refusal) };
}

const preconditionFailed = () =>
  new S3Error(412, 'PreconditionFailed', 'At least one of the pre-conditions you specified did not hold');

function checkPayload(payloadHash: string, content: Buffer): void {
  if (payloadHash === 'UNSIGNED-PAYLOAD') return;
  if (payloadHash.startsWith('STREAMING-'))
    throw new S3Error(501, 'NotImplemented', 'The local S3 takes no chunked signatures.');
  if (createHash('sha256').update(content).digest('hex') !== payloadHash)
    throw new S3Error(
      400,
      'XAmzContentSHA256Mismatch',
      "The provided 'x-amz-content-sha256' header does not match what was computed.",
    );
}
