import { beforeEach, describe, expect, it } from 'vitest';
import { jsonCall } from '../fixtures/http-calls.ts';
import { HttpGateway, type Received } from '../fixtures/http-gateway.ts';

let gateway: HttpGateway;

beforeEach(async () => {
  gateway = new HttpGateway();
  await gateway.grantKey('ann-server');
  await gateway.grantKey('minting', 'acme', ['tokens']);
});

const ask = (body: unknown): Promise<Received> => gateway.call('POST /api/v1/uploads', jsonCall(body));

describe('asking for an upload', () => {
  it('gives a form for exactly one picture of its owner', async () => {
    const { status, body } = await ask({ contentType: 'image/jpeg', bytes: 1_000, sha256: 'a'.repeat(64) });
    expect(status).toBe(201);
    const id = String(body['uploadId']);
    expect(body).toEqual({
      uploadId: id,
      method: 'POST',
      url: 'https://pictures.test/',
      headers: {},
      fields: { key: `uploads/acme/ann/${id}`, 'Content-Type': 'image/jpeg' },
      maxBytes: 1_000,
      expiresAt: new Date(gateway.clock.now() + 3_600_000).toISOString(),
    });
    const record = { id, owner: 'acme/ann', contentType: 'image/jpeg', bytes: 1_000, sha256: 'a'.repeat(64) };
    expect(await gateway.uploads.read(id)).toMatchObject(record);
  });

  it.each([
    ['HEIC', { contentType: 'image/heic', bytes: 1 }, 415, 'image_type_unsupported'],
    ['too many bytes', { contentType: 'image/png', bytes: 20_000_001 }, 413, 'image_too_large'],
    ['no bytes', { contentType: 'image/png', bytes: 0 }, 400, 'request_invalid'],
    ['a hash that is none', { contentType: 'image/png', bytes: 1, sha256: 'A1' }, 400, 'request_invalid'],
    ['a field that it does not know', { contentType: 'image/png', bytes: 1, name: 'x' }, 400, 'request_invalid'],
  ])('refuses %s before anything is sent', async (_, body, status, code) => {
    expect(await ask(body)).toMatchObject({ status, body: { code } });
  });
});

describe('uploads of one owner', () => {
  it('are limited in a minute, and say when to ask again', async () => {
    gateway.limits = { ...gateway.limits, submitsPerMinute: 1 };
    const picture = { contentType: 'image/png', bytes: 9 };
    expect((await ask(picture)).status).toBe(201);
    const refused = await ask(picture);
    expect(refused).toMatchObject({ status: 429, body: { code: 'upload_rate_limit' } });
    expect(refused.headers).toMatchObject({ 'Retry-After': '60' });
    await gateway.clock.advance(60_000);
    expect((await ask(picture)).status).toBe(201);
  });
});

describe('minting a client token', () => {
  const mint = (body: unknown, key = 'minting'): Promise<Received> => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    return gateway.call('POST /api/v1/client-tokens', { headers, body: JSON.stringify(body) });
  };

  it('lets one user in until it expires', async () => {
    const { status, body } = await mint({ user: 'ann', expiresInSeconds: 600 });
    expect([status, body['expiresAt']]).toEqual([201, new Date(gateway.clock.now() + 600_000).toISOString()]);
    const headers = { authorization: `Bearer ${String(body['token'])}` };
    expect((await gateway.call('GET /api/v1/jobs', { headers })).status).toBe(200);
    await gateway.clock.advance(600_000);
    expect((await gateway.call('GET /api/v1/jobs', { headers })).body['code']).toBe('credentials_expired');
  });

  it.each([
    ['a user that is none', { user: '-', expiresInSeconds: 600 }, 400, 'request_invalid'],
    ['a time that is too long', { user: 'ann', expiresInSeconds: 86_401 }, 400, 'request_invalid'],
    ['an unknown feature', { user: 'ann', expiresInSeconds: 600, features: ['undress'] }, 400, 'feature_unknown'],
  ])('refuses %s', async (_, body, status, code) => {
    expect(await mint(body)).toMatchObject({ status, body: { code } });
  });

  it('is refused to a key without the scope', async () => {
    const refused = await mint({ user: 'ann', expiresInSeconds: 600 }, 'ann-server');
    expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  });
});

describe('asking for a socket ticket', () => {
  it('gives a URL that admits its user once', async () => {
    const { status, body } = await gateway.call('POST /api/v1/socket-tickets', jsonCall({}));
    expect(status).toBe(201);
    expect(body['url']).toBe(`wss://sockets.test?ticket=${String(body['ticket'])}`);
    expect(body['expiresAt']).toBe(new Date(gateway.clock.now() + 60_000).toISOString());
  });
});
