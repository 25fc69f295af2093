import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Waiting } from '../../lambdas/domain/ports.ts';
import type { VendorWord } from '../../lambdas/domain/vendor.ts';
import type { DeployedVendor } from '../../lambdas/runtime/env.ts';
import { createVendors } from '../../lambdas/vendors/registry.ts';
import { ScriptedVendorServer, type ScriptedVendorSettings } from '../fakes/scripted-vendor-server.ts';
import {
  accepted,
  soon,
  started,
  submission,
  vendorContract,
  words,
  type VendorFault,
  type VendorUnderTest,
} from './vendor.suite.ts';

const now = Date.UTC(2026, 10, 30, 12);
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Waits for real, so that fallbacks and pauses are the ones of production, only shorter. */
const waiting: Waiting = {
  wait: (durationMs, signal) =>
    new Promise((done) => {
      if (signal.aborted) return done();
      const timer = setTimeout(done, durationMs);
      signal.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true });
    }),
};

interface Scripted extends VendorUnderTest {
  readonly server: ScriptedVendorServer;
  /** What the account's secret says now. */
  readonly secret: { apiKey: string; webhookSecret?: string };
}

async function scripted(
  settings: Partial<DeployedVendor> = {},
  server: ScriptedVendorSettings = {},
): Promise<Scripted> {
  const vendorServer = await ScriptedVendorServer.start(server);
  const deployed: DeployedVendor = {
    adapter: 'jobs-api',
    baseUrl: vendorServer.baseUrl,
    secretArn: 'arn:vendor',
    dedupe: 'replay',
    dedupeMs: 3_600_000,
    sendTimeoutMs: 5_000,
    pollMs: 5,
    webhooks: true,
    ...settings,
  };
  const secret: Scripted['secret'] = { apiKey: 'vendor-key' };
  // As a sandbox does: what was read is remembered until somebody reads again.
  let remembered = { ...secret };
  const vendor = createVendors(
    { vendor: deployed },
    {
      clock: { now: () => now },
      waiting,
      secretOf: () => ({
        read: () => Promise.resolve(remembered),
        refresh: () => Promise.resolve((remembered = { ...secret })),
      }),
    },
  ).named('vendor')!;
  return {
    vendor,
    server: vendorServer,
    secret,
    now,
    order: { feature: 'upscale', parameters: { scale: 2 }, picture: { bytes: png, contentType: 'image/png' } },
    posts: () => Promise.resolve(vendorServer.posts),
    takenKeys: () => Promise.resolve(vendorServer.accepted.map(({ key }) => key)),
    fault: (fault) => Promise.resolve(play(vendorServer, fault)),
    finish: (id) => Promise.resolve(vendorServer.finish(id, png)),
    breakKey: () => (secret.apiKey = 'a-key-of-nobody'),
    stop: () => vendorServer.close(),
  };
}

function play(server: ScriptedVendorServer, fault: VendorFault): void {
  switch (fault.how) {
    case 'drop-after-accept':
      return server.fault('submit', { do: 'drop', accept: true });
    case 'drop-before-accept':
    case 'drop':
      return server.fault(fault.at, { do: 'drop' });
    case 'garbage-2xx':
      return server.fault(fault.at, { do: 'answer', status: 200, body: '<html>', accept: true });
    case 'no-id-2xx':
      return server.fault('submit', { do: 'answer', status: 202, body: '{"status":"queued"}', accept: true });
    case 'status': {
      const headers = 'retryAfter' in fault && fault.retryAfter ? { 'retry-after': fault.retryAfter } : {};
      return server.fault(fault.at, { do: 'answer', status: fault.status, headers });
    }
  }
}

vendorContract('jobs-api, replay', () => scripted());
vendorContract('jobs-api, none', () => scripted({ dedupe: 'none' }, { onRepeatedKey: 'run' }));
vendorContract('jobs-api, reject', () => scripted({ dedupe: 'reject' }, { onRepeatedKey: 'reject' }));
vendorContract('jobs-api, lookup', () =>
  scripted({ dedupe: 'lookup', options: { lookupPath: '/api/v1/jobs/by-key/{key}' } }, { onRepeatedKey: 'run' }),
);
vendorContract('jobs-api, polled', () => scripted({ options: { events: false } }));

const start = async (...given: Parameters<typeof scripted>): Promise<Scripted> => {
  const under = await scripted(...given);
  await started(() => Promise.resolve(under));
  return under;
};

describe('jobs-api: what it sends', () => {
  it('is the picture, the feature, the parameters and where to call back', async () => {
    const under = await start();
    await accepted(under, { callbackUrl: 'https://gateway.example/hook' });
    const [job] = under.server.accepted;
    expect(job?.form).toEqual({
      feature: 'upscale',
      params: '{"scale":2}',
      callbackUrl: 'https://gateway.example/hook',
    });
    expect(job?.image?.contentType).toBe('image/png');
    expect(Buffer.from(job?.image?.bytes ?? []).equals(png)).toBe(true);
  });

  it('is the same however the store gives the parameters back: a retake must not look like another request', async () => {
    const under = await start();
    await accepted(under, { parameters: { b: 1, a: { d: null, c: [{ f: 'x', e: true }] } } });
    expect(under.server.accepted[0]?.form['params']).toBe('{"a":{"c":[{"e":true,"f":"x"}],"d":null},"b":1}');
  });

  it('names no callback where the vendor has no webhooks', async () => {
    const under = await start({ webhooks: false });
    await accepted(under, { callbackUrl: 'https://gateway.example/hook' });
    expect(under.server.accepted[0]?.form).not.toHaveProperty('callbackUrl');
  });
});

describe('jobs-api: what it reads', () => {
  it('tells the reason of a refusal, in one line, without our key', async () => {
    const under = await start();
    const body = JSON.stringify({
      error: { code: 'bad', message: `Too\nlarge \u202efor vendor-key ${'x'.repeat(500)}` },
    });
    under.server.fault('submit', { do: 'answer', status: 422, body });
    const outcome = await under.vendor.submit(submission(under));
    expect(outcome).toMatchObject({ kind: 'refused', status: 422 });
    const message = 'message' in outcome ? outcome.message : '';
    expect(message).toMatch(/^Too large for \[secret\] x+…$/);
    expect(message).toHaveLength(160);
  });

  it('a documented "not taken" is throttled', async () => {
    const under = await start({ options: { notTaken: [503] } });
    under.server.fault('submit', { do: 'answer', status: 503, headers: { 'retry-after': '2' } });
    expect(await under.vendor.submit(submission(under))).toMatchObject({ kind: 'throttled', retryAfterMs: 2_000 });
  });

  it.each([
    ['content_policy', 'refused'],
    ['balance_empty', 'account-refused'],
    [undefined, 'account-refused'],
  ])('a 403 with the code %s is %s: one forbidden prompt must not close the lane', async (code, kind) => {
    const under = await start({ options: { refusedCodes: ['content_policy'] } });
    under.server.fault('submit', {
      do: 'answer',
      status: 403,
      body: JSON.stringify({ error: { code, message: 'No.' } }),
    });
    expect(await under.vendor.submit(submission(under))).toMatchObject({ kind, status: 403, message: 'No.' });
  });

  it('a replayed key of a finished job brings its result at once', async () => {
    const under = await start();
    const id = await accepted(under);
    under.server.finish(id, png);
    const outcome = await under.vendor.submit(submission(under));
    expect(outcome).toMatchObject({ kind: 'finished', vendorJobId: id, result: { kind: 'url' } });
  });

  it('an id that would lead elsewhere as a path is no id', async () => {
    const under = await start();
    for (const id of ['..', '.', '', 'a b', 'x'.repeat(201), 7, null]) {
      under.server.fault('submit', { do: 'answer', status: 202, body: JSON.stringify({ id, status: 'queued' }) });
      expect(await under.vendor.submit(submission(under))).toMatchObject({ kind: 'unknown' });
    }
    under.server.fault('submit', { do: 'answer', status: 202, body: '{"id":"../../control","status":"queued"}' });
    expect(await accepted(under)).toBe('../../control');
    await under.vendor.ask('../../control', soon());
    expect(under.server.requests.at(-1)).toBe('GET /api/v1/jobs/..%2F..%2Fcontrol');
  });

  it.each(['RUNNING', 'aborted', 'completed', ''])('the unknown status %j is unreachable', async (status) => {
    const under = await start();
    const id = await accepted(under);
    under.server.say(id, status);
    expect(await under.vendor.ask(id, soon())).toMatchObject({ kind: 'unreachable' });
  });

  it('success without a result that can be read is unreachable', async () => {
    const under = await start();
    const id = await accepted(under);
    under.server.say(id, 'succeeded');
    expect(await under.vendor.ask(id, soon())).toMatchObject({ kind: 'unreachable' });
  });

  it('failure and cancellation are told as they are', async () => {
    const under = await start();
    const [failed, canceled] = [await accepted(under), await accepted(under, { vendorKey: 'job_b.1' })];
    under.server.fail(failed, 'nsfw', 'Not this picture.');
    under.server.say(canceled, 'canceled');
    expect(await under.vendor.ask(failed, soon())).toEqual({
      kind: 'failed',
      code: 'nsfw',
      message: 'Not this picture.',
    });
    expect(await under.vendor.ask(canceled, soon())).toEqual({ kind: 'canceled' });
  });

  it('an answer about another job changes nothing', async () => {
    const under = await start();
    const id = await accepted(under);
    const body = JSON.stringify({ id: 'another', status: 'failed' });
    under.server.fault('status', { do: 'answer', status: 200, body });
    expect(await under.vendor.ask(id, soon())).toMatchObject({ kind: 'unreachable' });
  });

  it('an unreachable answer carries how long to leave the vendor alone', async () => {
    const under = await start();
    const id = await accepted(under);
    under.server.fault('status', { do: 'answer', status: 429, headers: { 'retry-after': '9' } });
    expect(await under.vendor.ask(id, soon())).toMatchObject({ kind: 'unreachable', retryAfterMs: 9_000 });
  });

  it('percent out of range is clamped, and one that goes down is told as it is', async () => {
    const under = await start();
    const id = await accepted(under);
    const told: (number | undefined)[] = [];
    for (const percent of [40, 20, 150, -5]) {
      under.server.progress(id, percent);
      const word = await under.vendor.ask(id, soon());
      told.push(word.kind === 'pending' ? word.percent : undefined);
    }
    expect(told).toEqual([40, 20, 100, 0]);
  });
});

describe('jobs-api: the watch', () => {
  it('brings progress from the stream, without asking', async () => {
    const under = await start();
    const id = await accepted(under);
    const seen: VendorWord[] = [];
    for await (const word of under.vendor.watch(id, soon())) {
      seen.push(word);
      if (word.kind !== 'pending') continue;
      const percent = word.percent ?? 0;
      if (percent < 50) under.server.progress(id, percent + 25, `tile ${percent}`);
      else under.server.finish(id, png);
    }
    expect(seen.map((word) => (word.kind === 'pending' ? word.percent : word.kind))).toEqual([0, 25, 50, 'succeeded']);
    expect(under.server.requests).toEqual(['POST /api/v1/jobs', `GET /api/v1/jobs/${id}/events`]);
  });

  it('gives a slow consumer the newest word, not the ones that it missed', async () => {
    const under = await start();
    const id = await accepted(under);
    const seen: VendorWord[] = [];
    for await (const word of under.vendor.watch(id, soon())) {
      seen.push(word);
      if (seen.length > 1) continue;
      for (let percent = 1; percent < 100; percent += 1) under.server.progress(id, percent);
      under.server.finish(id, png);
      // The vendor's own stream shows when everything above has been written to the wire and read again.
      const reader = under.vendor.watch(id, soon());
      await words(reader);
    }
    expect(seen.length).toBeLessThan(50);
    expect(seen.at(-1)?.kind).toBe('succeeded');
  });

  it.each([
    { how: 'cut', end: (server: ScriptedVendorServer) => server.cutStreams() },
    { how: 'ended politely', end: (server: ScriptedVendorServer) => server.endStreams() },
  ])('a stream that is $how is no news: the vendor is asked', async ({ end }) => {
    const under = await start();
    const id = await accepted(under);
    const seen: VendorWord[] = [];
    for await (const word of under.vendor.watch(id, soon())) {
      seen.push(word);
      if (seen.length === 1) end(under.server);
      if (seen.length === 2) under.server.finish(id, png);
    }
    expect(seen[1]).toMatchObject({ kind: 'pending' });
    expect(seen.at(-1)).toMatchObject({ kind: 'succeeded' });
    expect(under.server.requests).toContain(`GET /api/v1/jobs/${id}`);
  });

  it('a stream that only keeps alive is left for polling', async () => {
    const under = await start({ options: { idleMs: 60 } });
    const id = await accepted(under);
    const alive = setInterval(() => under.server.writeToStreams(': still here\n\n'), 5);
    const seen: VendorWord[] = [];
    for await (const word of under.vendor.watch(id, soon())) {
      seen.push(word);
      if (seen.length === 2) {
        expect(under.server.openStreams()).toBe(0);
        under.server.finish(id, png);
      }
    }
    clearInterval(alive);
    expect(seen.at(-1)).toMatchObject({ kind: 'succeeded' });
  });

  it('events that can not be read, or are about another job, are left out', async () => {
    const under = await start();
    const id = await accepted(under);
    const seen: VendorWord[] = [];
    for await (const word of under.vendor.watch(id, soon())) {
      seen.push(word);
      if (seen.length > 1) continue;
      under.server.writeToStreams('data: {"id":"another","status":"failed"}\n\ndata: garbage\n\nevent: ping\n\n');
      under.server.say(id, 'paused');
      under.server.finish(id, png);
    }
    expect(seen.map(({ kind }) => kind)).toEqual(['pending', 'succeeded']);
  });

  it('goes on asking while the vendor is away', async () => {
    const under = await start({ options: { events: false } });
    const id = await accepted(under);
    for (let times = 0; times < 3; times += 1) under.server.fault('status', { do: 'answer', status: 500 });
    under.server.finish(id, png);
    const seen = await words(under.vendor.watch(id, soon()));
    expect(seen.map(({ kind }) => kind)).toEqual(['unreachable', 'unreachable', 'unreachable', 'succeeded']);
  });
});

describe('jobs-api: the result', () => {
  const fetchFrom = async (under: Scripted, url: string) =>
    under.vendor.fetchResult({ kind: 'url', url, contentType: undefined }, soon());

  async function finished(under: Scripted): Promise<string> {
    const id = await accepted(under);
    under.server.finish(id, png);
    return `/api/v1/jobs/${id}/result`;
  }

  it('may be named relative to the vendor', async () => {
    const under = await start();
    const url = await finished(under);
    expect(await fetchFrom(under, url)).toMatchObject({ kind: 'fetched', contentType: 'image/png' });
  });

  it('over the limit is lost', async () => {
    const under = await start({ options: { maxResultBytes: png.byteLength - 1 } });
    expect(await fetchFrom(under, await finished(under))).toMatchObject({ kind: 'lost' });
    const exact = await start({ options: { maxResultBytes: png.byteLength } });
    expect(await fetchFrom(exact, await finished(exact))).toMatchObject({ kind: 'fetched' });
  });

  it('that redirects is lost, and the redirect is not followed', async () => {
    const under = await start();
    const url = await finished(under);
    under.server.fault('result', { do: 'answer', status: 302, headers: { location: '/api/v1/jobs/secret' } });
    expect(await fetchFrom(under, url)).toMatchObject({ kind: 'lost' });
    expect(under.server.requests).not.toContain('GET /api/v1/jobs/secret');
  });

  it.each([
    { status: 404, kind: 'lost' },
    { status: 410, kind: 'lost' },
    { status: 429, kind: 'unreachable' },
    { status: 500, kind: 'unreachable' },
  ])('answered with $status is $kind', async ({ status, kind }) => {
    const under = await start();
    const url = await finished(under);
    under.server.fault('result', { do: 'answer', status });
    expect(await fetchFrom(under, url)).toMatchObject({ kind });
  });

  it('that is no picture is lost, whatever it calls itself', async () => {
    const under = await start();
    const url = await finished(under);
    under.server.fault('result', {
      do: 'answer',
      status: 200,
      headers: { 'content-type': 'image/png' },
      body: '<html>',
    });
    expect(await fetchFrom(under, url)).toMatchObject({ kind: 'lost' });
  });

  it('on another configured host is asked for over https only', async () => {
    let requests = 0;
    const storage = createServer((_request, response) => {
      requests += 1;
      response.end(png);
    });
    await new Promise<void>((listening) => storage.listen(0, '127.0.0.1', listening));
    const host = `127.0.0.1:${(storage.address() as AddressInfo).port}`;
    const under = await start({ resultHosts: [host], privateNetwork: true });
    expect(await fetchFrom(under, `http://${host}/a.png`)).toMatchObject({ kind: 'lost' });
    expect(await fetchFrom(under, `https://${host}/a.png`)).toMatchObject({ kind: 'unreachable' });
    expect(requests).toBe(0);
    await new Promise((closed) => storage.close(closed));
  });
});

describe('jobs-api: the account', () => {
  it('a rotated key is read again by whoever asks', async () => {
    const under = await start();
    const id = await accepted(under);
    under.server.apiKey = under.secret.apiKey = 'rotated';
    expect(await under.vendor.ask(id, soon())).toMatchObject({ kind: 'pending' });
    under.server.apiKey = under.secret.apiKey = 'rotated again';
    expect(await under.vendor.cancel(id, soon())).toBe('asked');
    expect(under.server.cancelsAsked(id)).toBe(1);
    under.server.finish(id, png);
    under.server.apiKey = under.secret.apiKey = 'and again';
    const url = `/api/v1/jobs/${id}/result`;
    const fetched = await under.vendor.fetchResult({ kind: 'url', url, contentType: undefined }, soon());
    expect(fetched.kind).toBe('fetched');
  });

  it('a submit is never sent twice for a rotated key: that is for the caller to decide', async () => {
    const under = await start();
    under.server.apiKey = under.secret.apiKey = 'rotated';
    expect(await under.vendor.submit(submission(under))).toMatchObject({ kind: 'account-refused' });
    expect(under.server.posts).toBe(1);
    expect(await under.vendor.refreshSecret()).toBe(true);
    expect(await under.vendor.refreshSecret()).toBe(false);
    expect(await under.vendor.submit(submission(under))).toMatchObject({ kind: 'accepted' });
  });
});

describe('jobs-api: finding by our key', () => {
  const lookupPath = '/api/v1/jobs/by-key/{key}';

  it('tells found, absent and unreachable apart', async () => {
    const under = await start({ dedupe: 'lookup', options: { lookupPath } }, { onRepeatedKey: 'run' });
    const id = await accepted(under);
    expect(await under.vendor.find?.('job_a.1', soon())).toEqual({ kind: 'found', vendorJobId: id });
    expect(await under.vendor.find?.('job_b.1', soon())).toEqual({ kind: 'absent' });
    under.server.fault('lookup', { do: 'answer', status: 500 });
    expect(await under.vendor.find?.('job_a.1', soon())).toMatchObject({ kind: 'unreachable' });
    under.server.fault('lookup', { do: 'answer', status: 200, body: '{}' });
    expect(await under.vendor.find?.('job_a.1', soon())).toMatchObject({ kind: 'unreachable' });
  });

  it('is offered only where the vendor can be asked so', async () => {
    expect((await start()).vendor.find).toBeUndefined();
    expect((await start({ dedupe: 'none', options: { lookupPath } })).vendor.find).toBeUndefined();
  });
});

describe('jobs-api: events', () => {
  const webhookSecret = `whsec_${Buffer.from('a webhook secret').toString('base64')}`;

  it('a signed one names the vendor job and our key', async () => {
    const under = await start();
    Object.assign(under.secret, { webhookSecret });
    await under.vendor.refreshSecret();
    const id = await accepted(under);
    const event = under.server.webhook(id, webhookSecret, now);
    expect(await under.vendor.readEvent({ ...event, at: now })).toEqual({
      kind: 'event',
      vendorJobId: id,
      vendorKey: 'job_a.1',
    });
    const refusals = {
      unsigned: { ...event, headers: {}, at: now },
      bad_signature: { ...event, body: Buffer.from('{"id":"x"}'), at: now },
      stale: { ...event, at: now + 300_001 },
    };
    for (const [reason, refused] of Object.entries(refusals)) {
      expect(await under.vendor.readEvent(refused)).toEqual({ kind: 'refused', reason });
    }
  });

  it('one signed with a secret that was rotated since is understood', async () => {
    const under = await start();
    Object.assign(under.secret, { webhookSecret });
    await under.vendor.refreshSecret();
    const id = await accepted(under);
    const rotated = `whsec_${Buffer.from('another secret').toString('base64')}`;
    Object.assign(under.secret, { webhookSecret: `${rotated} ${webhookSecret}` });
    for (const secret of [rotated, webhookSecret]) {
      const event = under.server.webhook(id, secret, now);
      expect(await under.vendor.readEvent({ ...event, at: now })).toMatchObject({ kind: 'event' });
    }
  });

  it('without a webhook secret the callback URL alone vouches, and the body must still make sense', async () => {
    const under = await start();
    const read = (body: string) => under.vendor.readEvent({ headers: {}, body: Buffer.from(body), at: now });
    expect(await read('{"id":"v1","status":"succeeded"}')).toEqual({
      kind: 'event',
      vendorJobId: 'v1',
      vendorKey: undefined,
    });
    expect(await read('{"status":"succeeded"}')).toEqual({ kind: 'refused', reason: 'malformed' });
    expect(await read('garbage')).toEqual({ kind: 'refused', reason: 'malformed' });
  });
});
