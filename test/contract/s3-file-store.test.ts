import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startFauxqs, type FauxqsServer } from 'fauxqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { S3FileStore, type ListedFile } from '../../lambdas/store/s3-file-store.ts';

const BUCKET = 'pictures';
const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
const credentials = {
  AWS_REGION: 'eu-west-1',
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};

function storeAt(variables: Record<string, string>) {
  const pausesMs: number[] = [];
  const clock = { now: () => NOW_MS };
  const waiting = {
    wait: (durationMs: number) => {
      pausesMs.push(durationMs);
      return Promise.resolve();
    },
  };
  return {
    store: new S3FileStore({ bucket: BUCKET, clock, waiting, variables: { ...credentials, ...variables } }),
    pausesMs,
  };
}

describe('over the S3 wire', () => {
  let s3: FauxqsServer;
  let store: S3FileStore;
  beforeAll(async () => {
    s3 = await startFauxqs({ port: 0, logger: false });
    s3.createBucket(BUCKET);
    ({ store } = storeAt({ AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${s3.port}` }));
  });
  afterAll(() => s3.stop());

  it('keeps bytes and type', async () => {
    const key = "inputs/acme/a user's (best)*/job_1/token+1";
    await store.put(key, Buffer.from('picture'), 'image/png');
    const found = await store.get(key);
    expect(found?.bytes).toEqual(Buffer.from('picture'));
    expect(found).toMatchObject({ key, size: 7, contentType: 'image/png' });
    expect(await store.head(key)).toMatchObject({ key, size: 7, contentType: 'image/png', etag: found?.etag });
  });

  it('says that nothing is there', async () => {
    expect(await store.get('inputs/none')).toBeUndefined();
    expect(await store.head('inputs/none')).toBeUndefined();
    expect(await store.copy('inputs/none', '"0"', 'inputs/copy')).toBe('missing');
    await expect(store.delete('inputs/none')).resolves.toBeUndefined();
  });

  it('copies bytes with their type', async () => {
    await store.put('uploads/u 1', Buffer.from('upload'), 'image/webp');
    const uploaded = await store.head('uploads/u 1');
    expect(await store.copy('uploads/u 1', uploaded?.etag ?? '', 'inputs/acme/copied')).toBe('copied');
    const copied = await store.get('inputs/acme/copied');
    expect(copied?.bytes).toEqual(Buffer.from('upload'));
    expect(copied?.contentType).toBe('image/webp');
  });

  it('lists and deletes by prefix, and leaves the neighbours', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `results/acme/x & y/${String(index).padStart(2, '0')}`);
    for (const name of names) await store.put(name, Buffer.from(name), 'image/png');
    await store.put('results/acme/x & yz', Buffer.from('neighbour'), 'image/png');

    const listed: string[] = [];
    for await (const file of store.list('results/acme/x & y/')) {
      listed.push(file.key);
      expect(file.size).toBe(file.key.length);
      expect(file.modifiedAtMs).toBeGreaterThan(0);
    }
    expect(listed).toEqual(names);

    expect(await store.deletePrefix('results/acme/x & y/')).toBe(20);
    expect(await store.head(names[0] ?? '')).toBeUndefined();
    expect(await store.head('results/acme/x & yz')).toBeDefined();
  });

  it('signs a form that stores a file', async () => {
    const { url, fields } = await store.signUpload('uploads/form', {
      contentType: 'image/jpeg',
      minBytes: 4,
      maxBytes: 4,
      expiresInSeconds: 600,
    });
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append('file', new Blob(['jpeg']));
    expect((await fetch(url, { method: 'POST', body: form })).status).toBe(204);
    expect(await store.head('uploads/form')).toMatchObject({ size: 4, contentType: 'image/jpeg' });
  });

  it('signs a link that reads a file', async () => {
    await store.put('results/link', Buffer.from('result'), 'image/png');
    const { url } = await store.signDownload('results/link', {
      expiresInSeconds: 300,
      contentType: 'image/png',
      fileName: 'result.png',
    });
    expect(await (await fetch(url)).text()).toBe('result');
  });
});

describe('what it sends', () => {
  interface Answer {
    status: number;
    body?: string;
    headers?: Record<string, string>;
  }
  let server: Server;
  let requests: IncomingMessage[] = [];
  let answers: Answer[] = [];
  let endpoint: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      requests.push(request);
      const { status, body = '', headers = {} } = answers.shift() ?? { status: 500 };
      request.resume().on('end', () => response.writeHead(status, headers).end(body));
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((closed) => server.close(closed)));

  const script = (...next: Answer[]) => {
    requests = [];
    answers = next;
    return storeAt({ AWS_ENDPOINT_URL_S3: endpoint });
  };

  it('copies only what bears the ETag', async () => {
    const { store } = script({ status: 412 });
    expect(await store.copy('uploads/u/1 é', '"abc"', 'inputs/x')).toBe('changed');
    expect(requests[0]?.headers['x-amz-copy-source']).toBe('/pictures/uploads/u/1%20%C3%A9');
    expect(requests[0]?.headers['x-amz-copy-source-if-match']).toBe('"abc"');
    expect(requests[0]?.headers.authorization).toMatch(
      /SignedHeaders=host;x-amz-content-sha256;x-amz-copy-source;x-amz-copy-source-if-match;x-amz-date,/,
    );
  });

  it('tries again after a 503 and after a copy that failed in a 200', async () => {
    const { store, pausesMs } = script(
      { status: 503 },
      { status: 200, body: '<Error><Code>InternalError</Code></Error>' },
      { status: 200, body: '<CopyObjectResult/>' },
    );
    expect(await store.copy('a', '"e"', 'b')).toBe('copied');
    expect(pausesMs).toEqual([100, 200]);
  });

  it('gives up after three tries, and at once on a refusal', async () => {
    await expect(script({ status: 500 }, { status: 500 }, { status: 500 }).store.delete('a')).rejects.toThrow(
      'failed 3 times',
    );
    expect(requests).toHaveLength(3);
    const denied = script({ status: 403, body: '<Error><Code>AccessDenied</Code></Error>' });
    await expect(denied.store.delete('a')).rejects.toThrow('403 AccessDenied');
    expect(requests).toHaveLength(1);
  });

  it('tells a missing file from a missing permission, where S3 says 403 to both', async () => {
    const denied = { status: 403, body: '<Error><Code>AccessDenied</Code></Error>' };
    const listing = (entries: string) => ({ status: 200, body: `<ListBucketResult>${entries}</ListBucketResult>` });
    const entry = (key: string) =>
      `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>e</ETag><Size>1</Size></Contents>`;

    expect(await script(denied, listing('')).store.head('uploads/a')).toBeUndefined();
    expect(requests[1]?.url).toContain('prefix=uploads%2Fa');
    expect(await script(denied, listing(entry('uploads/ab'))).store.get('uploads/a')).toBeUndefined();
    expect(await script(denied, listing('')).store.copy('uploads/a', '"e"', 'inputs/a')).toBe('missing');
    await expect(script(denied, listing(entry('uploads/a'))).store.get('uploads/a')).rejects.toThrow('AccessDenied');
    await expect(script(denied, denied).store.get('uploads/a')).rejects.toThrow('AccessDenied');
  });

  it('follows the pages of a list', async () => {
    const page = (key: string, more: string) =>
      `<ListBucketResult><Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>1</Size></Contents>${more}</ListBucketResult>`;
    const { store } = script(
      { status: 200, body: page('a%2Bb', '<NextContinuationToken>t&amp;2</NextContinuationToken>') },
      { status: 200, body: page('c+d', '') },
    );
    const listed: ListedFile[] = [];
    for await (const file of store.list('p/')) listed.push(file);
    expect(listed.map(({ key, etag }) => [key, etag])).toEqual([
      ['a+b', '"e"'],
      ['c d', '"e"'],
    ]);
    expect(requests[1]?.url).toContain('continuation-token=t%262');
  });

  it('never lets dots in a key lead to another', async () => {
    const { store } = script();
    await expect(store.get('inputs/acme/../secret')).rejects.toThrow('dot segments');
    await expect(
      store.signUpload('uploads/..', { contentType: 'image/png', minBytes: 1, maxBytes: 2, expiresInSeconds: 60 }),
    ).rejects.toThrow('dot segments');
    expect(requests).toHaveLength(0);
  });
});

/** The signing key and signature of Signature Version 4, written from AWS's description of it. */
function signatureOf(stringToSign: string): string {
  const secret = `AWS4${credentials.AWS_SECRET_ACCESS_KEY}`;
  const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const key = ['20260102', 'eu-west-1', 's3', 'aws4_request'].reduce<string | Buffer>(hmac, secret);
  return hmac(key, stringToSign).toString('hex');
}

describe('signatures', () => {
  it('binds the link to the moment, the file and how it is shown', async () => {
    const { store } = storeAt({ AWS_SESSION_TOKEN: 'session' });
    const { url, expiresAtMs } = await store.signDownload('results/a/1.png', {
      expiresInSeconds: 300,
      contentType: 'image/png',
      fileName: 'a "b".png',
    });
    const signed = new URL(url);
    expect(signed.origin + signed.pathname).toBe('https://pictures.s3.eu-west-1.amazonaws.com/results/a/1.png');
    expect(Object.fromEntries(signed.searchParams)).toMatchObject({
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': 'AKIDEXAMPLE/20260102/eu-west-1/s3/aws4_request',
      'X-Amz-Date': '20260102T030405Z',
      'X-Amz-Expires': '300',
      'X-Amz-Security-Token': 'session',
      'X-Amz-SignedHeaders': 'host',
      'response-content-type': 'image/png',
      'response-content-disposition': 'attachment; filename="a__b_.png"',
    });
    const [signature, ...others] = signed.search
      .slice(1)
      .split('&')
      .toSorted(
        (one, other) => Number(other.startsWith('X-Amz-Signature=')) - Number(one.startsWith('X-Amz-Signature=')),
      );
    const canonical = ['GET', signed.pathname, others.toSorted().join('&'), `host:${signed.host}`, '', 'host'];
    const hashed = createHash('sha256')
      .update([...canonical, 'UNSIGNED-PAYLOAD'].join('\n'))
      .digest('hex');
    const scope = '20260102/eu-west-1/s3/aws4_request';
    expect(signature).toBe(
      `X-Amz-Signature=${signatureOf(['AWS4-HMAC-SHA256', '20260102T030405Z', scope, hashed].join('\n'))}`,
    );
    expect(expiresAtMs).toBe(NOW_MS + 300_000);
  });

  it('puts key, type, size, bucket and expiry into the policy of a form', async () => {
    const { store } = storeAt({ AWS_SESSION_TOKEN: 'session' });
    const { url, fields } = await store.signUpload('uploads/1', {
      contentType: 'image/png',
      minBytes: 10,
      maxBytes: 20,
      expiresInSeconds: 600,
    });
    expect(url).toBe('https://pictures.s3.eu-west-1.amazonaws.com/');
    expect(fields['x-amz-signature']).toBe(signatureOf(fields['policy'] ?? ''));
    const policy = JSON.parse(Buffer.from(fields['policy'] ?? '', 'base64').toString('utf8')) as {
      expiration: string;
      conditions: unknown[];
    };
    expect(policy.expiration).toBe('2026-01-02T03:14:05.000Z');
    expect(policy.conditions).toEqual([
      { bucket: 'pictures' },
      { key: 'uploads/1' },
      { 'Content-Type': 'image/png' },
      { success_action_status: '204' },
      { 'x-amz-algorithm': 'AWS4-HMAC-SHA256' },
      { 'x-amz-credential': 'AKIDEXAMPLE/20260102/eu-west-1/s3/aws4_request' },
      { 'x-amz-date': '20260102T030405Z' },
      { 'x-amz-security-token': 'session' },
      ['content-length-range', 10, 20],
    ]);
  });
});
