import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callOnce, openOnce, type Call, type CallContext } from '../../../lambdas/vendors/call.ts';
import { fetchPicture } from '../../../lambdas/vendors/fetch-result.ts';
import { makeLoopbackCertificate, type LoopbackCertificate } from '../../fakes/loopback-certificate.ts';
import { closedPort, startTcpVendor, type TcpScript, type TcpVendor } from '../../fakes/tcp-vendor.ts';

const running: TcpVendor[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((vendor) => vendor.close()));
});

async function vendorThat(script: TcpScript): Promise<TcpVendor> {
  const vendor = await startTcpVendor(script);
  running.push(vendor);
  return vendor;
}

function post(port: number, over: Partial<Call> = {}): Call {
  return {
    method: 'POST',
    url: new URL(`http://127.0.0.1:${port}/api/v1/jobs?a=b`),
    headers: { 'x-api-key': 'k' },
    body: Buffer.from('the paid body'),
    timeoutMs: 5_000,
    maxBytes: 1_000,
    ...over,
  };
}

function at(port: number, now = 0): CallContext {
  return {
    network: { baseUrl: new URL(`http://127.0.0.1:${port}`), resultHosts: [], privateNetwork: false },
    clock: { now: () => now },
  };
}

const soon = (): AbortSignal => AbortSignal.timeout(20_000);

const ok = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

describe('an answer', () => {
  it('comes back whole, from one request on a connection of its own', async () => {
    const vendor = await vendorThat({ onRequest: (socket) => socket.write(ok('{"id":"1"}')) });
    const outcome = await callOnce(post(vendor.port), at(vendor.port));
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, headers: { 'content-length': '10' } });
    expect(outcome.kind === 'answered' && Buffer.from(outcome.body).toString()).toBe('{"id":"1"}');
    expect(vendor.requests).toHaveLength(1);
    expect(vendor.requests[0]).toMatch(/^POST \/api\/v1\/jobs\?a=b HTTP\/1\.1\r\n/);
    expect(vendor.requests[0]).toContain(`host: 127.0.0.1:${vendor.port}\r\nconnection: close\r\ncontent-length: 13`);
    await callOnce(post(vendor.port), at(vendor.port));
    expect(vendor.connections).toBe(2);
  });

  it('is any status: a redirect is not followed', async () => {
    const vendor = await vendorThat({
      onRequest: (socket) => socket.end('HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n'),
    });
    expect(await callOnce(post(vendor.port), at(vendor.port))).toMatchObject({
      kind: 'answered',
      status: 302,
      headers: { location: '/elsewhere' },
    });
    expect(vendor.requests).toHaveLength(1);
  });
});

describe('not sent: not one byte of the request has left', () => {
  it('connection refused', async () => {
    const port = await closedPort();
    expect(await callOnce(post(port), at(port))).toMatchObject({ kind: 'not-sent', cause: 'connect' });
  });

  it('TLS that fails, with a server that hears no request', async () => {
    let heard = '';
    const vendor = await vendorThat({ onBytes: (socket, received) => ((heard = received), socket.end('nonsense')) });
    const url = new URL(`https://127.0.0.1:${vendor.port}/api/v1/jobs`);
    const context = { ...at(vendor.port), network: { ...at(vendor.port).network, baseUrl: url } };
    expect(await callOnce(post(vendor.port, { url }), context)).toMatchObject({ kind: 'not-sent', cause: 'tls' });
    expect(heard).not.toContain('POST');
  });

  it('TLS that never finishes', async () => {
    const vendor = await vendorThat({});
    const url = new URL(`https://127.0.0.1:${vendor.port}/`);
    const context = { ...at(vendor.port), network: { ...at(vendor.port).network, baseUrl: url } };
    const outcome = await callOnce(post(vendor.port, { url, timeoutMs: 100 }), context);
    expect(outcome).toMatchObject({ kind: 'not-sent', cause: 'timed_out' });
  });

  it('a name that does not exist', async () => {
    const url = new URL('http://nothing.invalid/');
    const context = { ...at(1), network: { baseUrl: url, resultHosts: [], privateNetwork: true } };
    expect(await callOnce(post(1, { url }), context)).toMatchObject({ kind: 'not-sent', cause: 'dns' });
  });

  it.each([
    { now: 999, kind: 'answered' },
    { now: 1_000, kind: 'not-sent' },
    { now: 1_001, kind: 'not-sent' },
  ])('at $now with sendBy 1000: $kind', async ({ now, kind }) => {
    const vendor = await vendorThat({ onRequest: (socket) => socket.write(ok('')) });
    const outcome = await callOnce(post(vendor.port, { sendBy: 1_000 }), at(vendor.port, now));
    expect(outcome.kind).toBe(kind);
    expect(vendor.requests).toHaveLength(kind === 'answered' ? 1 : 0);
    if (outcome.kind === 'not-sent') expect(outcome.cause).toBe('too_late');
    // The connection stood already: a slow handshake can't carry a request past its time.
    await expect.poll(() => vendor.connections).toBe(1);
  });

  it.each(['sesame\n', 'sesame\r\nhost: elsewhere', '€'])('a header that HTTP can not carry: %j', async (key) => {
    const vendor = await vendorThat({});
    const outcome = await callOnce(post(vendor.port, { headers: { 'x-api-key': key } }), at(vendor.port));
    expect(outcome).toMatchObject({ kind: 'not-sent', cause: 'forbidden_header' });
    expect(outcome.kind === 'not-sent' && outcome.detail).toContain('x-api-key');
    expect(outcome.kind === 'not-sent' && outcome.detail).not.toContain(key.slice(0, 6).trim());
    expect(vendor.connections).toBe(0);
  });

  it('aborted before it starts', async () => {
    const vendor = await vendorThat({});
    const outcome = await callOnce(post(vendor.port, { signal: AbortSignal.abort() }), at(vendor.port));
    expect(outcome).toMatchObject({ kind: 'not-sent', cause: 'aborted' });
    expect(vendor.requests).toHaveLength(0);
  });
});

describe('unknown: the vendor may have taken it', () => {
  it('reset after the body was read: one POST, and no second', async () => {
    const vendor = await vendorThat({ onRequest: (socket) => socket.resetAndDestroy() });
    const outcome = await callOnce(post(vendor.port), at(vendor.port));
    expect(outcome).toMatchObject({ kind: 'unknown', cause: 'reset', bodySent: true });
    expect(vendor.requests).toHaveLength(1);
    expect(vendor.connections).toBe(1);
  });

  it('closed politely after the body was read', async () => {
    const vendor = await vendorThat({ onRequest: (socket) => socket.end() });
    expect(await callOnce(post(vendor.port), at(vendor.port))).toMatchObject({ kind: 'unknown', bodySent: true });
  });

  it('reset in the middle of a body that had not left', async () => {
    const vendor = await vendorThat({
      onBytes: (socket) => socket.resetAndDestroy(),
    });
    const body = Buffer.alloc(64 * 1024 * 1024);
    const outcome = await callOnce(post(vendor.port, { body }), at(vendor.port));
    expect(outcome).toMatchObject({ kind: 'unknown', cause: 'reset', bodySent: false });
    expect(vendor.connections).toBe(1);
  });

  it('no answer in time', async () => {
    const vendor = await vendorThat({});
    const outcome = await callOnce(post(vendor.port, { timeoutMs: 150 }), at(vendor.port));
    expect(outcome).toMatchObject({ kind: 'unknown', cause: 'timed_out', bodySent: true });
  });

  it('half an answer, then silence', async () => {
    const vendor = await vendorThat({ onRequest: (socket) => socket.write(ok('whole').slice(0, -2)) });
    const outcome = await callOnce(post(vendor.port, { timeoutMs: 150 }), at(vendor.port));
    expect(outcome).toMatchObject({ kind: 'unknown', cause: 'timed_out', bodySent: true });
  });

  it('half an answer, then the end', async () => {
    const vendor = await vendorThat({ onRequest: (socket) => socket.end(ok('whole').slice(0, -2)) });
    expect(await callOnce(post(vendor.port), at(vendor.port))).toMatchObject({ kind: 'unknown', cause: 'truncated' });
  });

  it('aborted after the body left', async () => {
    const controller = new AbortController();
    const vendor = await vendorThat({ onRequest: () => controller.abort() });
    const outcome = await callOnce(post(vendor.port, { signal: controller.signal }), at(vendor.port));
    expect(outcome).toMatchObject({ kind: 'unknown', cause: 'aborted', bodySent: true });
  });

  it.each([
    { how: 'announced', answer: ok('x'.repeat(1_001)) },
    { how: 'unannounced', answer: `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(1_001)}` },
  ])('an answer over the limit, $how', async ({ answer }) => {
    const vendor = await vendorThat({ onRequest: (socket) => socket.end(answer) });
    expect(await callOnce(post(vendor.port), at(vendor.port))).toMatchObject({ kind: 'unknown', cause: 'too_large' });
  });

  it('an answer at the limit is whole', async () => {
    const vendor = await vendorThat({ onRequest: (socket) => socket.end(ok('x'.repeat(1_000))) });
    expect(await callOnce(post(vendor.port), at(vendor.port))).toMatchObject({ kind: 'answered' });
  });

  it('an answer that is not HTTP', async () => {
    const vendor = await vendorThat({ onRequest: (socket) => socket.end('SSH-2.0-OpenSSH\r\n\r\n') });
    expect(await callOnce(post(vendor.port), at(vendor.port))).toMatchObject({ kind: 'unknown', cause: 'malformed' });
  });
});

describe('where a request may go', () => {
  const publicVendor = { baseUrl: new URL('https://api.vendor.example'), resultHosts: [], privateNetwork: false };

  it.each([
    'http://api.vendor.example/x',
    'https://other.example/x',
    'https://api.vendor.example:8443/x',
    'ftp://api.vendor.example/x',
    'https://user:pass@api.vendor.example/x',
    'https://127.0.0.1/x',
  ])('%s is never asked', async (address) => {
    const call = post(1, { url: new URL(address) });
    const outcome = await callOnce(call, { network: publicVendor, clock: { now: () => 0 } });
    expect(outcome).toMatchObject({ kind: 'not-sent', cause: 'forbidden_url' });
  });

  it('a public vendor whose name turns out to be an address inside is not asked', async () => {
    for (const host of ['10.0.0.1', '[::1]', '169.254.169.254', '[::ffff:7f00:1]', '100.64.0.1', '0.0.0.0']) {
      const url = new URL(`https://${host}/x`);
      // As a result host: the base URL is the only one whose loopback literal is the operator's word.
      const network = { ...publicVendor, resultHosts: [url.host] };
      const outcome = await callOnce(post(1, { url }), { network, clock: { now: () => 0 } });
      expect(outcome).toMatchObject({ kind: 'not-sent', cause: 'forbidden_address' });
    }
  });

  it('metadata addresses are refused even in a private network', async () => {
    for (const host of ['169.254.169.254', '[fd00:ec2::254]']) {
      const url = new URL(`http://${host}/latest/meta-data`);
      const network = { baseUrl: url, resultHosts: [], privateNetwork: true };
      const outcome = await callOnce(post(1, { url }), { network, clock: { now: () => 0 } });
      expect(outcome).toMatchObject({ kind: 'not-sent', cause: 'forbidden_address' });
    }
  });
});

describe('names', () => {
  const named = new URL('http://vendor.invalid');
  const network = { baseUrl: named, resultHosts: [], privateNetwork: true };

  it('are resolved once, and the connection goes to what was checked', async () => {
    const vendor = await vendorThat({ onRequest: (socket) => socket.write(ok('here')) });
    const url = new URL(`http://vendor.invalid:${vendor.port}/`);
    let lookups = 0;
    const lookupHost = (): Promise<{ address: string; family: number }[]> => {
      lookups += 1;
      return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    };
    const context = { network: { ...network, baseUrl: url }, clock: { now: () => 0 }, lookupHost };
    expect(await callOnce(post(vendor.port, { url }), context)).toMatchObject({ kind: 'answered', status: 200 });
    expect(lookups).toBe(1);
    expect(vendor.requests[0]).toContain(`host: vendor.invalid:${vendor.port}`);
  });

  it('with one forbidden address among good ones are not asked at all', async () => {
    const vendor = await vendorThat({});
    const url = new URL(`http://vendor.invalid:${vendor.port}/`);
    const addresses = ['127.0.0.1', '169.254.169.254'].map((address) => ({ address, family: 4 }));
    const context = {
      network: { ...network, baseUrl: url },
      clock: { now: () => 0 },
      lookupHost: () => Promise.resolve(addresses),
    };
    const outcome = await callOnce(post(vendor.port, { url }), context);
    expect(outcome).toMatchObject({ kind: 'not-sent', cause: 'forbidden_address' });
    expect(vendor.connections).toBe(0);
  });

  it('that take too long to resolve are not sent', async () => {
    const context = {
      network,
      clock: { now: () => 0 },
      lookupHost: () => new Promise<never>(() => undefined),
    };
    const outcome = await callOnce(post(1, { url: named, timeoutMs: 30 }), context);
    expect(outcome).toMatchObject({ kind: 'not-sent', cause: 'timed_out' });
  });
});

describe('over TLS', () => {
  let authority: LoopbackCertificate;
  let before: readonly string[];
  beforeAll(() => {
    authority = makeLoopbackCertificate();
    before = getCACertificates('default');
    setDefaultCACertificates([...before, authority.certificate]);
  });
  afterAll(() => setDefaultCACertificates([...before]));

  async function secureServer(): Promise<{ url: URL; keys: (string | undefined)[]; close: () => void }> {
    const keys: (string | undefined)[] = [];
    const server = createServer({ key: authority.privateKey, cert: authority.certificate }, (request, response) => {
      keys.push(request.headers['x-api-key']?.toString());
      request.resume().on('end', () => {
        if (request.url === '/drop') request.socket.destroy();
        else response.end(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
      });
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    return { url: new URL(`https://localhost:${port}`), keys, close: () => void server.close() };
  }

  it('an answer is whole, and a drop after the body is unknown', async () => {
    const { url, keys, close } = await secureServer();
    const context = { network: { baseUrl: url, resultHosts: [], privateNetwork: false }, clock: { now: () => 0 } };
    const body = Buffer.alloc(3_000_000);
    expect(await callOnce(post(1, { url, body }), context)).toMatchObject({ kind: 'answered', status: 200 });
    const drop = new URL('/drop', url);
    expect(await callOnce(post(1, { url: drop, body }), context)).toMatchObject({ kind: 'unknown', bodySent: true });
    expect(keys).toEqual(['k', 'k']);
    close();
  });

  it('our key is shown to the vendor, and not to a host that only stores its results', async () => {
    const [vendor, storage] = [await secureServer(), await secureServer()];
    const network = { baseUrl: vendor.url, resultHosts: [storage.url.host], privateNetwork: true };
    const context = { network, clock: { now: () => 0 } };
    const rules = { timeoutMs: 5_000, maxBytes: 1_000, keyHeaders: { 'x-api-key': 'k' }, signal: soon() };
    for (const { url } of [vendor, storage]) {
      const result = { kind: 'url', url: `${url.origin}/a.png`, contentType: undefined } as const;
      expect(await fetchPicture(result, rules, context)).toMatchObject({ kind: 'fetched', contentType: 'image/png' });
    }
    expect(vendor.keys).toEqual(['k']);
    expect(storage.keys).toEqual([undefined]);
    vendor.close();
    storage.close();
  });
});

describe('an open answer', () => {
  it('is handed out as it arrives, and closed by its signal', async () => {
    const vendor = await vendorThat({
      onRequest: (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n'),
    });
    const controller = new AbortController();
    const call = post(vendor.port, { method: 'GET', signal: controller.signal });
    const answer = await openOnce(call, at(vendor.port));
    if (answer.kind !== 'open') throw new Error(`expected an open answer, got ${answer.cause}`);
    const seen: string[] = [];
    const reading = (async () => {
      for await (const chunk of answer.chunks) {
        seen.push(Buffer.from(chunk).toString());
        controller.abort();
      }
    })();
    await reading.catch(() => undefined);
    expect(seen).toEqual(['data: 1\n\n']);
  });
});
