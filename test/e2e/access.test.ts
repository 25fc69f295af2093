import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import { webhookHeaders } from '../../local/studio/webhook-signature.ts';
import { Api, problemOf } from './harness/api.ts';
import { eventually } from './harness/eventually.ts';
import { refusalOf } from './harness/follower.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 150_000 });

let slowlane: Slowlane;
let picture: Buffer<ArrayBuffer>;
beforeAll(async () => {
  picture = await drawPicture();
  slowlane = await startSlowlane({ reconcileEverySeconds: 3_600 });
  await slowlane.operator.changeLane({ cap: 8 });
});
afterAll(async () => {
  await slowlane.stop();
});

const bearer = (token: string) => new Api(slowlane.url, { Authorization: `Bearer ${token}` });
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');

async function finishedJob(as: Api): Promise<string> {
  const { job } = await as.submit({ feature: 'stylize', picture });
  await as.done(job.id);
  return job.id;
}

describe.concurrent('who asks', () => {
  it('is refused without credentials, with two kinds, and with a key that nobody made', async ({ expect }) => {
    const nobody = new Api(slowlane.url, {});
    expect(problemOf(await nobody.send('/api/v1/jobs'))).toMatchObject({ status: 401, code: 'credentials_missing' });
    const guess = new Api(slowlane.url, { 'X-API-Key': 'sl_local_guess' });
    expect(problemOf(await guess.send('/api/v1/jobs'))).toMatchObject({ status: 401, code: 'credentials_invalid' });
    const both = new Api(slowlane.url, { 'X-API-Key': 'local-demo-key', Authorization: 'Bearer a.b.c' });
    expect(problemOf(await both.send('/api/v1/jobs'))).toMatchObject({ status: 400, code: 'credentials_ambiguous' });
  });

  it('is refused with a revoked key, within a minute of its last use', async ({ expect }) => {
    const server = await slowlane.createKey('sl_local_to_be_revoked', 'acme', ['jobs']);
    expect((await server.send('/api/v1/jobs')).status).toBe(200);
    await slowlane.revokeKey('sl_local_to_be_revoked');
    const refused = await eventually(
      'the key stops working',
      async () => {
        const answer = await server.send('/api/v1/jobs');
        return answer.status === 200 ? undefined : answer;
      },
      { withinMs: 60_000, everyMs: 1_000 },
    );
    expect(problemOf(refused)).toMatchObject({ status: 401, code: 'credentials_invalid' });
  });

  it('is refused with a token that we did not make, or that was changed', async ({ expect }) => {
    const token = await slowlane.operator.mintToken('ann');
    const [header = '', payload = '', signature = ''] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as object;
    expect((await bearer(token).send('/api/v1/jobs')).status).toBe(200);
    const forged = [
      `${header}.${encode({ ...claims, sub: 'bob' })}.${signature}`,
      `${header}.${encode({ ...claims, exp: 4_000_000_000 })}.${signature}`,
      `${encode({ alg: 'none', typ: 'JWT' })}.${payload}.${signature}`,
      `${encode({ alg: 'RS256', kid: 'k1' })}.${encode({ ...claims, iss: 'https://issuer.example' })}.${signature}`,
    ];
    for (const one of forged) {
      expect(problemOf(await bearer(one).send('/api/v1/jobs'))).toMatchObject({
        status: 401,
        code: 'credentials_invalid',
      });
    }
    const asBob = await bearer(token).as('bob').send('/api/v1/jobs');
    expect(problemOf(asBob)).toMatchObject({ status: 403, code: 'forbidden' });
  });

  it('may do only what its key or token is for', async ({ expect }) => {
    const { api, operator } = slowlane;
    const token = bearer(await operator.mintToken('carl', { features: ['upscale'], maxJobs: 1 }));
    expect(problemOf(await token.trySubmit({ feature: 'stylize', picture }))).toMatchObject({
      status: 403,
      code: 'feature_not_allowed',
    });
    await slowlane.studio.fault({ point: 'run', fault: 'slow', seconds: 3_600, feature: 'upscale', times: 1 });
    const only = await token.submit({ feature: 'upscale', picture });
    const second = await token.trySubmit({ feature: 'upscale', picture, key: 'second' });
    expect(problemOf(second)).toMatchObject({ status: 429, code: 'active_jobs_limit' });
    // It holds back new jobs only, and uses up no key.
    expect((await token.submit({ feature: 'upscale', picture, key: only.key })).job.id).toBe(only.job.id);
    await slowlane.studio.clearFaults();
    await token.done(only.job.id);
    expect((await token.submit({ feature: 'upscale', picture, key: 'second' })).status).toBe(202);
    const plain = await slowlane.createKey('sl_local_plain', 'local', ['jobs']);
    expect(problemOf(await plain.as('ann').send('/api/v1/jobs'))).toMatchObject({ status: 403, code: 'forbidden' });
    for (const route of ['/api/v1/operator/flagged', '/api/v1/operator/lanes', '/api/v1/operator/jobs/job_x']) {
      expect(problemOf(await api.send(route))).toMatchObject({ status: 403, code: 'forbidden' });
      expect(problemOf(await token.send(route))).toMatchObject({ status: 403, code: 'forbidden' });
    }
    const minted = await api.sendJson('POST', '/api/v1/client-tokens', { user: 'dora', expiresInSeconds: 60 });
    expect(problemOf(minted)).toMatchObject({ status: 403, code: 'forbidden' });
  });
});

describe.concurrent('another owner’s job', () => {
  it('is not there, for a user of the same tenant or a server of another', async ({ expect }) => {
    const id = await finishedJob(slowlane.operator.as('owner'));
    const stranger = bearer(await slowlane.operator.mintToken('stranger'));
    const otherTenant = await slowlane.createKey('sl_local_other_tenant', 'other', ['jobs', 'tokens', 'act-for-user']);
    const otherToken = bearer(await otherTenant.mintToken('owner'));
    for (const caller of [stranger, otherTenant, otherTenant.as('owner'), otherToken]) {
      const answers = await Promise.all([
        caller.send(`/api/v1/jobs/${id}`),
        caller.send(`/api/v1/jobs/${id}/result`),
        caller.send(`/api/v1/jobs/${id}/cancel`, { method: 'POST' }),
        caller.send(`/api/v1/jobs/${id}`, { method: 'DELETE' }),
      ]);
      for (const answer of answers) expect(problemOf(answer)).toMatchObject({ status: 404, code: 'job_not_found' });
      expect(await caller.list()).toEqual({ jobs: [], nextCursor: null });
      const socket = await slowlane.follow([id], caller);
      const problem = await socket.hear('a refusal', (message) => (message.type === 'problem' ? message : undefined));
      expect(problem).toMatchObject({ code: 'job_not_found', jobId: id });
      socket.close();
    }
    // A server sees all users of its own tenant.
    expect((await slowlane.api.job(id)).status).toBe('succeeded');
  });

  it('has another identity under the same idempotency key', async ({ expect }) => {
    const ann = await slowlane.operator.as('ann').submit({ feature: 'stylize', picture, key: 'shared-key' });
    const bob = await slowlane.operator.as('bob').submit({ feature: 'stylize', picture, key: 'shared-key' });
    expect([ann.status, bob.status]).toEqual([202, 202]);
    expect(ann.job.id).not.toBe(bob.job.id);
  });
});

describe.concurrent('a socket', () => {
  it('opens once per ticket, and not at all with a guess', async ({ expect }) => {
    const job = await finishedJob(slowlane.api);
    const follower = await slowlane.follow([job]);
    await follower.hearDone(job);
    follower.close();
    const url = await slowlane.api.socketUrl();
    const once = await slowlane.connect(url);
    once.close();
    // An authorizer's "deny" is 403; what it is not even asked about is 401.
    expect(await refusalOf(url)).toBe(403);
    expect(await refusalOf(url.replace(/ticket=.*/, 'ticket=guess'))).toBe(403);
    expect(await refusalOf(url.replace(/\?ticket=.*/, ''))).toBe(401);
  });

  it('does not open with a ticket that is too old', async ({ expect }) => {
    const url = (await slowlane.api.socketUrl()).replace(/ticket=.*/, 'ticket=too-old');
    await slowlane.putTicket('too-old', Date.now() - 1);
    expect(await refusalOf(url)).toBe(403);
  });
});

describe.concurrent('a webhook', () => {
  const post = async (url: string, body: string, headers: Record<string, string>) => {
    const answer = await fetch(url, { method: 'POST', body, headers });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };

  it('is heard only with the token of its URL, the vendor’s signature and a recent time', async ({ expect }) => {
    const id = await finishedJob(slowlane.operator.as('hooked'));
    const before = await slowlane.api.job(id);
    const [sold] = await slowlane.studio.acceptedFor(id);
    const url = await slowlane.callbackUrl(id);
    const secret = await slowlane.webhookSecret();
    const body = JSON.stringify({ id: sold?.vendorJobId, key: `${id}.1`, feature: 'stylize', status: 'failed' });
    const now = Date.now();
    const other = `whsec_${Buffer.from('another secret, as long as it has to be').toString('base64')}`;

    const forgedUrl = url.replace(/[^/]+$/, createHash('sha256').update(url).digest('base64url'));
    expect(problemOf(await post(forgedUrl, body, webhookHeaders(secret, 'msg_1', now, body)))).toMatchObject({
      status: 401,
      code: 'vendor_event_unauthorized',
    });
    const forged = [webhookHeaders(other, 'msg_2', now, body), webhookHeaders(secret, 'msg_3', now, `${body} `), {}];
    for (const headers of forged) {
      expect(problemOf(await post(url, body, headers))).toMatchObject({
        status: 401,
        code: 'vendor_event_unauthorized',
      });
    }
    const old = webhookHeaders(secret, 'msg_4', now - 3_600_000, body);
    expect(problemOf(await post(url, body, old))).toMatchObject({ status: 400, code: 'vendor_event_stale' });
    // Genuine, and repeated: a hint that changes nothing, for the job is at its end.
    const genuine = webhookHeaders(secret, 'msg_5', now, body);
    for (let time = 0; time < 2; time += 1) expect((await post(url, body, genuine)).status).toBeLessThan(300);
    const after = await slowlane.api.job(id);
    expect([after.status, after.version]).toEqual(['succeeded', before.version]);
  });
});
