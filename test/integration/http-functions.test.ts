import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jobIdOf } from '../../lambdas/domain/idempotency.ts';
import { deployFunctions, type DeployedFunctions } from '../fixtures/deployed-functions.ts';
import { asAnn, formCall, jsonCall } from '../fixtures/http-calls.ts';
import type { Received } from '../fixtures/http-gateway.ts';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';

let deployed: DeployedFunctions;
let photo: Uint8Array;

beforeAll(async () => {
  [deployed, photo] = await Promise.all([deployFunctions(), photoWithPlace()]);
  await deployed.grantKey('ann-server');
  await deployed.grantKey('minting', ['tokens']);
});
afterAll(() => deployed.stop());

const annsJob = (key: string): string => jobIdOf('acme/ann', key);

function submit(key: string, parts: Record<string, string | Uint8Array> = {}): Promise<Received> {
  const call = formCall({ image: photo, metadata: '{"order":7}', ...parts }, { 'idempotency-key': key });
  return deployed.call('submit-job', 'POST /api/v1/jobs', call);
}

function read(key: string): Promise<Received> {
  return deployed.call('read-job', 'GET /api/v1/jobs/{id}', { headers: asAnn, path: { id: annsJob(key) } });
}

describe('the deployed functions', () => {
  it('take a job once, of many requests at the same time, and ring once', async () => {
    const before = deployed.rings();
    const answers = await Promise.all(Array.from({ length: 6 }, () => submit('once')));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 200, 200, 202]);
    expect(new Set(answers.map(({ body }) => body['id']))).toEqual(new Set([annsJob('once')]));
    expect(deployed.rings() - before).toBe(1);
    expect((await submit('once', { params: '{"scale":2}' })).body['code']).toBe('idempotency_key_reused');
  });

  it('show it by its id and by its key', async () => {
    await submit('shown');
    const shown = await read('shown');
    expect(shown).toMatchObject({
      status: 200,
      body: { id: annsJob('shown'), status: 'queued', metadata: { order: 7 } },
    });
    const headers = { ...asAnn, 'idempotency-key': '"shown"' };
    const byKey = await deployed.call('read-job', 'GET /api/v1/jobs/by-key', { headers });
    expect(byKey.body['id']).toBe(annsJob('shown'));
    const bobs = await deployed.call('read-job', 'GET /api/v1/jobs/{id}', {
      headers: { ...asAnn, 'slowlane-user': 'bob' },
      path: { id: annsJob('shown') },
    });
    expect(bobs.body['code']).toBe('job_not_found');
  });

  it('take a picture by upload, and find the same job through it', async () => {
    const sha256 = createHash('sha256').update(photo).digest('hex');
    const asked = { contentType: 'image/jpeg', bytes: photo.length, sha256 };
    const form = await deployed.call('create-upload', 'POST /api/v1/uploads', jsonCall(asked));
    expect(form.status).toBe(201);
    const { uploadId, url, fields } = form.body as { uploadId: string; url: string; fields: Record<string, string> };
    const sending = new FormData();
    for (const [name, value] of Object.entries(fields)) sending.set(name, value);
    sending.set('file', new Blob([new Uint8Array(photo)], { type: 'image/jpeg' }));
    expect((await fetch(url, { method: 'POST', body: sending })).status).toBe(204);
    const body = { feature: 'upscale', inputs: { image: { uploadId } } };
    const byUpload = jsonCall(body, { 'idempotency-key': 'uploaded' });
    const submitted = await deployed.call('submit-job', 'POST /api/v1/jobs', byUpload);
    expect([submitted.status, submitted.body['id']]).toEqual([202, annsJob('uploaded')]);
    expect((await submit('uploaded')).status).toBe(200);
  });

  it('list them newest first, page by page', async () => {
    for (const key of ['list-1', 'list-2', 'list-3']) await submit(key, { feature: 'stylize', consent: 'confirmed' });
    const list = (query: Record<string, string>): Promise<Received> =>
      deployed.call('list-jobs', 'GET /api/v1/jobs', { headers: asAnn, query });
    const idsOf = ({ body }: Received) => (body['jobs'] as { id: string }[]).map(({ id }) => id);
    const first = await list({ limit: '2', status: 'queued' });
    expect(idsOf(first)).toEqual([annsJob('list-3'), annsJob('list-2')]);
    const second = await list({ limit: '2', status: 'queued', cursor: String(first.body['nextCursor']) });
    expect(idsOf(second)[0]).toBe(annsJob('list-1'));
  });

  it('cancel it while it waits, and tell the bus', async () => {
    await submit('canceled');
    const path = { id: annsJob('canceled') };
    const canceled = await deployed.call('cancel-job', 'POST /api/v1/jobs/{id}/cancel', { headers: asAnn, path });
    expect(canceled).toMatchObject({ status: 200, body: { status: 'canceled', done: true } });
    expect((await read('canceled')).body).toMatchObject({ status: 'canceled', charge: { state: 'none' } });
    expect(deployed.events).toContainEqual({
      type: 'Job Canceled',
      detail: expect.objectContaining({ id: `${path.id}.2`, jobId: path.id }),
    });
  });

  it('erase it for good: its key never buys again', async () => {
    await submit('erased');
    const path = { id: annsJob('erased') };
    const erased = await deployed.call('erase-jobs', 'DELETE /api/v1/jobs/{id}', { headers: asAnn, path });
    expect(erased.status).toBe(204);
    expect((await read('erased')).body['code']).toBe('job_gone');
    expect((await submit('erased')).body['code']).toBe('job_gone');
    const all = { headers: { 'x-api-key': 'ann-server' }, query: { user: 'ann' } };
    const user = await deployed.call('erase-jobs', 'DELETE /api/v1/users', all);
    expect(user.body).toMatchObject({ pending: [], more: false });
    expect((await read('once')).body['code']).toBe('job_gone');
  });

  it('let an app in with a token that its server minted, and give it a ticket', async () => {
    const minted = await deployed.call('create-client-token', 'POST /api/v1/client-tokens', {
      headers: { 'x-api-key': 'minting', 'content-type': 'application/json' },
      body: JSON.stringify({ user: 'ann', expiresInSeconds: 600 }),
    });
    const headers = { authorization: `Bearer ${String(minted.body['token'])}` };
    const ticket = await deployed.call('create-socket-ticket', 'POST /api/v1/socket-tickets', { headers });
    expect(ticket.body['url']).toMatch(/^wss:\/\/sockets\.test\/live\?ticket=[\w-]{20,}$/);
  });

  it('describe themselves to everybody', async () => {
    const describeApi = (routeKey: string): Promise<Received> => deployed.call('describe-api', routeKey);
    const features = (await describeApi('GET /api/v1/features')).body['features'] as { name: string }[];
    expect(features.map(({ name }) => name)).toEqual(['upscale', 'stylize']);
    const document = await describeApi('GET /api/v1/openapi.json');
    expect(document.body).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'https://api.test' }] });
    expect((await describeApi('GET /api/v1/health')).body).toEqual({ status: 'ok', environment: 'test' });
  });
});
