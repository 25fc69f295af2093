import { beforeEach, describe, expect, it } from 'vitest';
import { accept } from '../../lambdas/domain/accept-job.ts';
import { callbackUrl, type CallbackClaims } from '../../lambdas/vendors/callback.ts';
import { createVendors } from '../../lambdas/vendors/registry.ts';
import { signWebhook, webhookToleranceMs } from '../../lambdas/vendors/webhook-signature.ts';
import { pending } from '../fakes/told-vendor.ts';
import { OperatorGateway, type Answer } from '../fixtures/operator-gateway.ts';
import { noon, storedJob } from '../fixtures/stored-job.ts';

const route = 'POST /api/v1/vendor-events/{vendor}/{jobId}/{generation}/{token}';
const webhookSecret = 'whsec_dGhlIHdlYmhvb2sgc2VjcmV0IG9mIHRoZSB2ZW5kb3I=';

let gateway: OperatorGateway;
beforeEach(() => {
  gateway = new OperatorGateway();
  const settings = {
    adapter: 'jobs-api',
    baseUrl: 'https://studio.test',
    dedupe: 'replay' as const,
    dedupeMs: 86_400_000,
    webhooks: true,
    secretArn: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:studio',
  };
  const secret = { apiKey: 'an API key', webhookSecret };
  const vendors = createVendors(
    { studio: settings },
    {
      clock: gateway.clock,
      waiting: gateway.clock,
      secretOf: () => ({ read: async () => secret, refresh: async () => secret }),
    },
  );
  gateway.studio.reader = vendors.named('studio');
});

interface Post {
  readonly claims?: Partial<CallbackClaims>;
  /** Of the URL, where it is not what the claims say. */
  readonly path?: Readonly<Record<string, string>>;
  readonly signedAt?: number;
  readonly signedWith?: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

const bodyOf = (vendorJobId: string, key = 'job_a.1') =>
  JSON.stringify({ id: vendorJobId, key, status: 'succeeded', progress: { percent: 100, stage: null } });

function pathOf(claims: Partial<CallbackClaims> = {}): Record<string, string> {
  const all = { vendor: 'studio', jobId: 'job_a', generation: 1, ...claims };
  const url = callbackUrl('https://api.test', all, gateway.signing.real);
  const [vendor = '', jobId = '', generation = '', token = ''] = url.split('/').slice(6);
  return { vendor, jobId, generation, token };
}

async function post({ claims, path, signedAt, signedWith, body, headers }: Post = {}): Promise<Answer> {
  const raw = body ?? bodyOf('vendor-job-1');
  const timestamp = String(Math.floor((signedAt ?? gateway.clock.now()) / 1000));
  const signature = signWebhook('event-1', timestamp, Buffer.from(raw), signedWith ?? webhookSecret);
  const signed = { 'webhook-id': 'event-1', 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
  return await gateway.call(route, { path: { ...pathOf(claims), ...path }, headers: headers ?? signed, body: raw });
}

const whatOf = async () => (await gateway.evidence.read('job_a')).map(({ what }) => what);

describe('a receipt that was lost', () => {
  it('is brought by the webhook: the flag goes, and a worker takes the job up', async () => {
    gateway.put('needs_attention');
    const { status, headers } = await post();
    expect(status).toBe(204);
    expect(headers['Request-Id']).toBe('request-1');
    expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'running', vendorJobId: 'vendor-job-1', flag: undefined });
    expect(gateway.doorbell.rings).toMatchObject([{ lane: 'default', hint: 'job_a' }]);
    expect(await whatOf()).toEqual(['vendor_event']);
  });

  it('leaves a job to its sender while that may be alive', async () => {
    gateway.put('dispatching');
    expect((await post()).status).toBe(204);
    expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'running', attempt: 1 });
    expect(gateway.doorbell.rings).toEqual([]);
  });

  it('is taken once, however often it comes', async () => {
    gateway.put('needs_attention');
    for (let times = 0; times < 3; times += 1) expect((await post()).status).toBe(204);
    expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'running', generation: 1 });
    expect(await gateway.jobs.vendorJobOwner('studio', 'vendor-job-1')).toEqual({ jobId: 'job_a', generation: 1 });
    // Longer than anybody may still name it; a job that ended with it takes it along earlier.
    expect(gateway.jobs.keptUntil.get('vendor-job-1')).toBe(gateway.clock.now() + 400 * 86_400_000);
  });
});

describe('an event is a hint, never an outcome', () => {
  it.each(['succeeded', 'failed', 'canceled'] as const)('changes nothing of a job that is %s', async (state) => {
    const before = gateway.put(state);
    expect((await post()).status).toBe(204);
    expect(gateway.jobs.get('job_a')).toEqual(before);
    // It ended as the vendor said: its last event comes as a matter of course.
    expect(await whatOf()).toEqual([]);
    expect(gateway.notices).toEqual([]);
  });

  it('rings for a running job that nobody watches, and not for one that is watched', async () => {
    gateway.put('running', { watchUntil: gateway.clock.now() + 1 });
    await post();
    expect(gateway.doorbell.take()).toEqual([]);
    gateway.put('running', { watchUntil: gateway.clock.now() });
    await post();
    expect(gateway.doorbell.take()).toMatchObject([{ hint: 'job_a' }]);
    expect(gateway.jobs.get('job_a').state).toBe('running');
  });

  it('of another vendor job is kept as evidence, and changes nothing', async () => {
    const before = gateway.put('running');
    expect((await post({ body: bodyOf('vendor-job-2') })).status).toBe(204);
    expect(gateway.jobs.get('job_a')).toEqual(before);
    expect(await whatOf()).toEqual(['vendor_job_conflict']);
  });

  it('of an older generation is evidence only, although its URL is ours', async () => {
    const before = gateway.put('needs_attention', { generation: 2 });
    expect((await post({ claims: { generation: 1 } })).status).toBe(204);
    expect(gateway.jobs.get('job_a')).toEqual(before);
    expect(await whatOf()).toEqual(['event_of_another_generation']);
  });

  it('that names another key than its URL is evidence only', async () => {
    const before = gateway.put('needs_attention');
    expect((await post({ body: bodyOf('vendor-job-9', 'job_b.1') })).status).toBe(204);
    expect(gateway.jobs.get('job_a')).toEqual(before);
  });
});

describe('what the vendor says of a job with which it has nothing to do any more', () => {
  const failedByPerson = { code: 'failed_by_operator', message: 'Our team ended this job.' };

  it.each([
    ['queued', {}],
    ['canceled', { vendorJobId: undefined }],
    ['failed', { vendorJobId: undefined, failure: { code: 'expired_in_queue', message: 'It waited too long.' } }],
    ['failed', { vendorJobId: undefined, failure: failedByPerson }],
    ['succeeded', { vendorJobId: 'vendor-job-0' }],
  ] as const)('is kept once for a person, who is woken: %s %o', async (state, fields) => {
    const before = gateway.put(state, fields);
    for (let times = 0; times < 3; times += 1) {
      expect((await post()).status).toBe(204);
      await gateway.clock.advance(1_000);
    }
    expect(gateway.jobs.get('job_a')).toEqual(before);
    const evidence = await gateway.evidence.read('job_a');
    expect(evidence).toMatchObject([
      { what: `vendor_has_it_while_${state}`, generation: 1, detail: { vendorJobId: 'vendor-job-1' } },
    ]);
    expect(gateway.notices).toContainEqual(expect.objectContaining({ kind: 'vendor_job_conflict' }));
  });

  it('is kept once, where a person ended the very job that the vendor speaks of', async () => {
    gateway.put('failed', { failure: failedByPerson });
    for (let times = 0; times < 3; times += 1) await post();
    expect(await whatOf()).toEqual(['event_after_end']);
    expect(gateway.notices).toEqual([]);
  });

  it('is nothing new of a picture that was the answer to its send', async () => {
    gateway.put('succeeded', { vendorJobId: undefined });
    await gateway.jobs.linkVendorJob('studio', 'vendor-job-1', 'job_a', 1);
    await post();
    expect(await whatOf()).toEqual([]);
    await post({ body: bodyOf('vendor-job-2') });
    expect(await whatOf()).toEqual(['vendor_has_it_while_succeeded']);
  });

  it('never fills the table, however many vendor jobs it names and however often', async () => {
    gateway.put('queued');
    for (let job = 0; job < 130; job += 1) await post({ body: bodyOf(`vendor-job-${job}`) });
    for (let times = 0; times < 30; times += 1) await post({ claims: { generation: 3 } });
    expect(await gateway.evidence.read('job_a')).toHaveLength(100);
    expect(gateway.evidence.erase('job_a')).toBe(100);
  });

  it.each([
    ['queued', 'vendor_has_it_while_queued', {}],
    ['failed', 'vendor_has_it_while_failed', { vendorJobId: undefined }],
    ['queued', 'receipt_of_another_generation', { generation: 2 }],
  ] as const)('is kept where its own answer to a send comes too late: %s, %s', async (state, what, fields) => {
    const now = gateway.put(state, fields);
    const sent = storedJob('dispatching');
    for (let times = 0; times < 2; times += 1) {
      expect(await accept(gateway.world, sent, 'vendor-job-7', noon)).toEqual({ kind: 'moved_on', actual: now });
    }
    expect(await gateway.evidence.read('job_a')).toMatchObject([{ what, detail: { vendorJobId: 'vendor-job-7' } }]);
  });

  it('is nothing new where another answer to the same send was its picture, unless it names another vendor job', async () => {
    gateway.put('succeeded', { vendorJobId: undefined });
    await gateway.jobs.linkVendorJob('studio', 'vendor-job-1', 'job_a', 1, noon);
    await accept(gateway.world, storedJob('dispatching'), 'vendor-job-1', noon);
    expect([await whatOf(), gateway.notices]).toEqual([[], []]);
    await accept(gateway.world, storedJob('dispatching'), 'vendor-job-2', noon);
    expect(await whatOf()).toEqual(['vendor_has_it_while_succeeded']);
  });

  it('is nothing new where the job ended with that answer', async () => {
    gateway.put('succeeded');
    await accept(gateway.world, storedJob('dispatching'), 'vendor-job-1', noon);
    expect(await whatOf()).toEqual([]);
  });
});

describe('the URL', () => {
  it.each<[string, Record<string, string>]>([
    ['a forged token', { token: 'A'.repeat(43) }],
    ['no token', { token: '' }],
    ['the token of another job', { jobId: 'job_b' }],
    ['the token of another vendor', { vendor: 'blind' }],
    ['the token of another generation', { generation: '2' }],
    ['a generation in another notation', { generation: '01' }],
    ['a generation with a sign', { generation: '+1' }],
    ['a generation with an exponent', { generation: '1e0' }],
    ['a generation with a fraction', { generation: '1.0' }],
    ['a generation with a space', { generation: ' 1' }],
    ['no generation', { generation: '' }],
  ])('with %s is refused, whatever the vendor signed', async (_, path) => {
    const before = gateway.put('needs_attention');
    gateway.put('needs_attention', { id: 'job_b' });
    const { status, body } = await post({ path });
    expect({ status, code: body['code'] }).toEqual({ status: 401, code: 'vendor_event_unauthorized' });
    expect(gateway.jobs.get('job_a')).toEqual(before);
    expect(await whatOf()).toEqual([]);
  });

  it('tells nobody without a token which jobs there are', async () => {
    gateway.put('needs_attention');
    const there = await post({ path: { token: 'forged' } });
    const notThere = await post({ path: { token: 'forged', jobId: 'job_none' } });
    expect(notThere).toEqual(there);
  });

  it('of a job that is not there is 404, once the token holds', async () => {
    const { status, body } = await post({ claims: { jobId: 'job_none' } });
    expect({ status, code: body['code'] }).toEqual({ status: 404, code: 'job_not_found' });
  });

  it('signed with a secret that was rotated a moment ago is ours', async () => {
    gateway.put('needs_attention');
    gateway.signing = { ...gateway.signing, real: { current: 'the signing secret after its rotation' } };
    expect((await post()).status).toBe(204);
    expect(gateway.jobs.get('job_a').state).toBe('running');
  });
});

describe("the vendor's own signature", () => {
  it.each<[string, Post, number, string]>([
    ['by another secret', { signedWith: 'another-secret' }, 401, 'vendor_event_unauthorized'],
    ['not there', { headers: {} }, 401, 'vendor_event_unauthorized'],
    ['too old', { signedAt: noon + 60_000 - webhookToleranceMs - 1_000 }, 400, 'vendor_event_stale'],
    ['from the future', { signedAt: noon + 60_000 + webhookToleranceMs + 1_000 }, 400, 'vendor_event_stale'],
    ['right, of something else', { body: 'hello' }, 400, 'body_malformed'],
    ['right, of a job without id', { body: '{"status":"succeeded"}' }, 400, 'body_malformed'],
  ])('%s: refused', async (_, sent, status, code) => {
    const before = gateway.put('needs_attention');
    const answer = await post(sent);
    expect({ status: answer.status, code: answer.body['code'] }).toEqual({ status, code });
    expect(gateway.jobs.get('job_a')).toEqual(before);
  });

  it('of a replayed event is refused once it is old, though it was right', async () => {
    gateway.put('succeeded');
    const signedAt = gateway.clock.now();
    expect((await post({ signedAt })).status).toBe(204);
    await gateway.clock.advance(webhookToleranceMs + 1_000);
    expect((await post({ signedAt })).status).toBe(400);
  });

  it('is over the very bytes that were sent: base64 in transit, and no UTF-8', async () => {
    gateway.put('needs_attention');
    const text = Buffer.from(bodyOf('vendor-job-1').replace('{', '{"note":"\u00e9\u{1f5bc}",'));
    expect((await post({ body: text })).status).toBe(204);
    const broken = Buffer.concat([text.subarray(0, -1), Buffer.from(',"x":"\xff"}', 'latin1')]);
    expect((await post({ body: broken })).status).toBe(204);
  });
});

it('answers 503 where it can not be stored, so that the vendor sends it again', async () => {
  gateway.put('needs_attention');
  gateway.studio.words.set('vendor-job-1', pending);
  gateway.evidence.add = () => Promise.reject(new Error('DynamoDB does not answer'));
  const { status, headers } = await post();
  expect(status).toBe(503);
  expect(headers['Retry-After']).toBeDefined();
  expect(gateway.jobs.get('job_a').state).toBe('needs_attention');
});
