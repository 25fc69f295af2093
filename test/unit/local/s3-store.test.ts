import { createHash, createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { awsSigner, signableRequest, signedFetch, type AwsRequest } from '../../../lambdas/runtime/signed-fetch.ts';
import { CallLedger } from '../../../local/runtime/calls.ts';
import { Permissions } from '../../../local/runtime/permissions.ts';
import { CredentialIssuer } from '../../../local/stores/credentials.ts';
import { S3Store } from '../../../local/stores/s3.ts';

const bucketArn = 'arn:aws:s3:::pictures';
const allow = (action: string, resource: string) => ({
  Effect: 'Allow' as const,
  Action: [action],
  Resource: [resource],
});
const permissions = new Permissions({
  full: [allow('s3:*', `${bucketArn}/*`), allow('s3:ListBucket', bucketArn)],
  reader: [allow('s3:GetObject', `${bucketArn}/inputs/*`)],
});

let folder: string;
let store: S3Store;
let server: Server;
let url: string;
let issuer: CredentialIssuer;
let calls: CallLedger;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'slowlane-s3-'));
  await open();
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve).closeAllConnections() ?? resolve(undefined));
  await rm(folder, { recursive: true });
});

async function open(): Promise<void> {
  issuer = await CredentialIssuer.open(folder);
  calls = new CallLedger();
  store = new S3Store({ folder: path.join(folder, 's3'), issuer, permissions: () => permissions, calls });
  const rule = {
    AllowedMethods: ['GET', 'POST'],
    AllowedOrigins: ['https://app.example'],
    AllowedHeaders: ['content-type'],
    ExposedHeaders: ['ETag'],
  };
  const expiry = { Prefix: 'uploads/', Status: 'Enabled' as const, ExpirationInDays: 1 };
  await store.addBucket('pictures', { cors: { CorsRules: [rule] }, lifecycle: { Rules: [expiry] } });
  server = createServer((request, response) => void store.handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const variablesOf = (caller: string, secret?: string) => {
  const { accessKeyId, secretAccessKey, sessionToken } = issuer.issue(caller);
  return {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secret ?? secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
    AWS_ENDPOINT_URL_S3: url,
  };
};

const send = (
  method: AwsRequest['method'],
  key: string,
  more: Partial<AwsRequest> = {},
  caller = 'full',
  secret?: string,
) => signedFetch('s3', { method, url: new URL(`${url}/pictures/${key}`), ...more }, variablesOf(caller, secret));

const codeOf = (body: string | Buffer) => /<Code>(\w+)<\/Code>/.exec(body.toString())?.[1];

async function presign(key: string, options: { at?: Date; expiresIn?: number; query?: Record<string, string> } = {}) {
  const target = new URL(`${url}/pictures/${key}`);
  for (const [name, value] of Object.entries(options.query ?? {})) target.searchParams.set(name, value);
  const request = signableRequest('GET', target, { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' });
  const signed = await awsSigner('s3', variablesOf('full')).presign(request, {
    expiresIn: options.expiresIn ?? 60,
    signingDate: options.at ?? new Date(),
  });
  const encode = (text: string) =>
    encodeURIComponent(text)
      .replaceAll("'", '%27')
      .replaceAll('(', '%28')
      .replaceAll(')', '%29')
      .replaceAll('*', '%2A');
  target.search = Object.entries(signed.query ?? {})
    .map(([name, value]) => `${encode(name)}=${encode(String(value))}`)
    .join('&');
  return target.href;
}

it('keeps bytes, type and metadata, and tells its ETag', async () => {
  const put = await send('PUT', 'inputs/a%20b', {
    body: 'hello',
    headers: { 'content-type': 'image/png', 'x-amz-meta-owner': 'me' },
  });
  expect(put.status).toBe(200);
  expect(put.headers.get('etag')).toBe(`"${createHash('md5').update('hello').digest('hex')}"`);
  const got = await send('GET', 'inputs/a%20b');
  expect(got.body.toString()).toBe('hello');
  expect(got.headers.get('content-type')).toBe('image/png');
  expect(got.headers.get('x-amz-meta-owner')).toBe('me');
  const head = await send('HEAD', 'inputs/a%20b');
  expect([head.status, head.headers.get('content-length')]).toEqual([200, '5']);
});

it('finds everything again after the process was gone', async () => {
  await send('PUT', 'inputs/kept', { body: 'kept' });
  await send('PUT', 'inputs/kept', { body: 'newer' });
  server.close();
  server.closeAllConnections();
  await open();
  expect((await send('GET', 'inputs/kept')).body.toString()).toBe('newer');
});

it('refuses an unsigned request, one signed with another key, and a body that is not the one signed', async () => {
  const unsigned = await fetch(`${url}/pictures/inputs/a`);
  expect([unsigned.status, codeOf(await unsigned.text())]).toEqual([403, 'AccessDenied']);
  const forged = await send('PUT', 'inputs/a', { body: 'x' }, 'full', 'another secret');
  expect([forged.status, codeOf(forged.body)]).toEqual([403, 'SignatureDoesNotMatch']);
  const target = new URL(`${url}/pictures/inputs/a`);
  const unsent = { ...signableRequest('PUT', target), body: 'what was signed' };
  const { host: _, ...headers } = (await awsSigner('s3', variablesOf('full')).sign(unsent)).headers;
  const changed = await fetch(target, { method: 'PUT', headers, body: 'what was sent' });
  expect([changed.status, codeOf(await changed.text())]).toEqual([400, 'XAmzContentSHA256Mismatch']);
});

it('holds a presigned link to its key, its parameters and its time', async () => {
  await send('PUT', 'inputs/a', { body: 'picture' });
  const link = await presign('inputs/a', { query: { 'response-content-disposition': 'attachment; filename="a.png"' } });
  const followed = await fetch(link);
  expect([followed.status, await followed.text()]).toEqual([200, 'picture']);
  expect(followed.headers.get('content-disposition')).toBe('attachment; filename="a.png"');
  expect((await fetch(link.replace('inputs/a?', 'inputs/b?'))).status).toBe(403);
  expect((await fetch(link.replace('a.png', 'b.exe'))).status).toBe(403);
  expect((await fetch(link, { method: 'DELETE' })).status).toBe(403);
  const old = await fetch(await presign('inputs/a', { at: new Date(Date.now() - 61_000) }));
  expect([old.status, await old.text()]).toEqual([403, expect.stringContaining('expired')]);
  expect((await fetch(await presign('inputs/a', { expiresIn: 604_800 }))).status).toBe(200);
});

it('serves ranges and preconditions', async () => {
  const { headers } = await send('PUT', 'inputs/a', { body: '0123456789' });
  const etag = headers.get('etag') ?? '';
  const middle = await send('GET', 'inputs/a', { headers: { range: 'bytes=2-4' } });
  expect([middle.status, middle.body.toString(), middle.headers.get('content-range')]).toEqual([
    206,
    '234',
    'bytes 2-4/10',
  ]);
  expect((await send('GET', 'inputs/a', { headers: { range: 'bytes=-3' } })).body.toString()).toBe('789');
  expect((await send('GET', 'inputs/a', { headers: { range: 'bytes=10-' } })).status).toBe(416);
  expect((await send('GET', 'inputs/a', { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await send('PUT', 'inputs/a', { body: 'x', headers: { 'if-none-match': '*' } })).status).toBe(412);
  expect((await send('PUT', 'inputs/new', { body: 'x', headers: { 'if-none-match': '*' } })).status).toBe(200);
});

it('copies exactly the version that was named', async () => {
  const { headers } = await send('PUT', 'uploads/a', { body: 'original', headers: { 'content-type': 'image/jpeg' } });
  const etag = headers.get('etag') ?? '';
  const copy = (more: Record<string, string>) =>
    send('PUT', 'inputs/copy', { headers: { 'x-amz-copy-source': '/pictures/uploads/a', ...more } });
  expect((await copy({ 'x-amz-copy-source-if-match': etag })).status).toBe(200);
  const copied = await send('GET', 'inputs/copy');
  expect([copied.body.toString(), copied.headers.get('content-type')]).toEqual(['original', 'image/jpeg']);
  await send('PUT', 'uploads/a', { body: 'swapped' });
  expect((await copy({ 'x-amz-copy-source-if-match': etag })).status).toBe(412);
  expect((await send('PUT', 'x', { headers: { 'x-amz-copy-source': '/pictures/nothing' } })).status).toBe(404);
});

it('lists by prefix, in pages, and deletes what may be gone already', async () => {
  for (const key of ['inputs/b', 'inputs/a', 'inputs/c%26d', 'results/x']) await send('PUT', key, { body: 'x' });
  const list = async (query: Record<string, string>) => {
    const target = new URL(`${url}/pictures`);
    for (const [name, value] of Object.entries({ 'list-type': '2', ...query })) target.searchParams.set(name, value);
    return (await signedFetch('s3', { method: 'GET', url: target }, variablesOf('full'))).body.toString();
  };
  const keysOf = (page: string) => [...page.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key);
  const first = await list({ prefix: 'inputs/', 'max-keys': '2' });
  expect(keysOf(first)).toEqual(['inputs/a', 'inputs/b']);
  const token = /<NextContinuationToken>(.*?)</.exec(first)?.[1] ?? '';
  expect(keysOf(await list({ prefix: 'inputs/', 'continuation-token': token }))).toEqual(['inputs/c&amp;d']);
  expect(keysOf(await list({ prefix: 'inputs/c', 'encoding-type': 'url' }))).toEqual(['inputs/c%26d']);
  expect((await send('DELETE', 'inputs/a')).status).toBe(204);
  expect((await send('DELETE', 'inputs/a')).status).toBe(204);
  expect((await send('GET', 'inputs/a')).status).toBe(404);
});

it('lets callers do what their role allows, and tells only those who may list that a key is missing', async () => {
  await send('PUT', 'inputs/a', { body: 'x' });
  expect((await send('GET', 'inputs/a', {}, 'reader')).status).toBe(200);
  expect((await send('GET', 'results/a', {}, 'reader')).status).toBe(403);
  expect((await send('PUT', 'inputs/a', { body: 'y' }, 'reader')).status).toBe(403);
  expect((await send('GET', 'inputs/missing', {}, 'reader')).status).toBe(403);
  expect((await send('GET', 'inputs/missing', {}, 'full')).status).toBe(404);
  expect((await send('GET', 'inputs/a', {}, 'stranger')).status).toBe(403);
  expect(calls.snapshot()['reader']).toEqual({ 's3.GetObject': 3, 's3.PutObject': 1 });
});

function postForm(
  content: string,
  change: { policy?: object; fields?: Record<string, string>; expiresInMs?: number } = {},
) {
  const { accessKeyId, secretAccessKey } = issuer.issue('full');
  const date = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const credential = `${accessKeyId}/${date.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const fields: Record<string, string> = {
    key: 'uploads/form',
    'Content-Type': 'image/png',
    'x-amz-credential': credential,
    'x-amz-date': date,
    'x-amz-algorithm': 'AWS4-HMAC-SHA256',
  };
  const expiration = new Date(Date.now() + (change.expiresInMs ?? 60_000)).toISOString();
  const conditions = [
    { bucket: 'pictures' },
    ...Object.entries(fields).map(([name, value]) => ({ [name]: value })),
    ['content-length-range', 2, 10],
  ];
  const policy = Buffer.from(JSON.stringify({ expiration, conditions })).toString('base64');
  const sign = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const key = [date.slice(0, 8), 'us-east-1', 's3', 'aws4_request'].reduce<string | Buffer>(
    sign,
    `AWS4${secretAccessKey}`,
  );
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...fields, ...change.fields })) form.set(name, value);
  form.set(
    'policy',
    change.policy === undefined ? policy : Buffer.from(JSON.stringify(change.policy)).toString('base64'),
  );
  form.set('x-amz-signature', sign(key, policy).toString('hex'));
  form.set('file', new Blob([content]), 'photo.png');
  return fetch(`${url}/pictures`, { method: 'POST', body: form });
}

it('stores what a signed form allows', async () => {
  expect((await postForm('picture')).status).toBe(204);
  const stored = await send('GET', 'uploads/form');
  expect([stored.body.toString(), stored.headers.get('content-type')]).toEqual(['picture', 'image/png']);
});

it.each<[string, string, Parameters<typeof postForm>[1], string]>([
  ['too much', 'much too long', {}, 'EntityTooLarge'],
  ['too little', 'x', {}, 'EntityTooSmall'],
  ['another key', 'picture', { fields: { key: 'results/theirs' } }, 'AccessDenied'],
  ['another type', 'picture', { fields: { 'Content-Type': 'text/html' } }, 'AccessDenied'],
  ['a field of its own', 'picture', { fields: { 'x-amz-meta-extra': '1' } }, 'AccessDenied'],
  ['an old policy', 'picture', { expiresInMs: -1000 }, 'AccessDenied'],
  [
    'a policy that nobody signed',
    'picture',
    { policy: { expiration: '2099-01-01T00:00:00.000Z', conditions: [] } },
    'SignatureDoesNotMatch',
  ],
])('refuses a form with %s', async (_, content, change, code) => {
  const answer = await postForm(content, change);
  expect(codeOf(await answer.text())).toBe(code);
  expect((await send('GET', 'uploads/form')).status).toBe(404);
});

it('lets go of what the lifecycle of the bucket calls old, and of nothing else', async () => {
  for (const key of ['uploads/a', 'inputs/a']) await send('PUT', key, { body: 'x' });
  await store.expire(Date.now());
  expect((await send('GET', 'uploads/a')).status).toBe(200);
  await store.expire(Date.now() + 25 * 60 * 60_000);
  expect((await send('GET', 'uploads/a')).status).toBe(404);
  expect((await send('GET', 'inputs/a')).status).toBe(200);
});

it("answers CORS by the bucket's rules", async () => {
  const preflight = (origin: string, method: string) =>
    fetch(`${url}/pictures/inputs/a`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': method },
    });
  const allowed = await preflight('https://app.example', 'GET');
  expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example']);
  expect((await preflight('https://evil.example', 'GET')).status).toBe(403);
  expect((await preflight('https://app.example', 'PUT')).status).toBe(403);
  await send('PUT', 'inputs/a', { body: 'x' });
  const followed = await fetch(await presign('inputs/a'), { headers: { origin: 'https://app.example' } });
  expect(followed.headers.get('access-control-expose-headers')).toBe('ETag');
});
