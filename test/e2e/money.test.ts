import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import type { JobBody } from '../../lambdas/http/job-body.ts';
import { expectStatus, problemOf, type Submitted } from './harness/api.ts';
import { eventually } from './harness/eventually.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';
import type { Fault } from './harness/studio.ts';

vi.setConfig({ testTimeout: 120_000 });

let slowlane: Slowlane;
let picture: Buffer<ArrayBuffer>;
beforeAll(async () => {
  picture = await drawPicture();
  slowlane = await startSlowlane({ vendor: { sendTimeoutMs: 8_000 }, limits: { submitsPerMinute: 1_000 } });
  expectStatus(await slowlane.operator.changeLane({ cap: 8 }), 200);
});
afterAll(async () => {
  await slowlane.stop();
});
afterEach(async () => {
  await slowlane.studio.clearFaults();
});

const evidenceSchema = z.object({ evidence: z.array(z.looseObject({ what: z.string() })) });

type Feature = 'upscale' | 'stylize';

const submit = (feature: Feature): Promise<Submitted> => slowlane.api.submit({ feature, picture });

/** Posts that reached the studio since. */
async function countingPosts<T>(work: () => Promise<T>): Promise<{ result: T; posts: number }> {
  const before = (await slowlane.studio.ledger()).posts;
  const result = await work();
  return { result, posts: (await slowlane.studio.ledger()).posts - before };
}

/** Submits one `stylize` whose send fails in this way; no webhook helps. */
async function flaggedBy(fault: Fault): Promise<JobBody> {
  await slowlane.studio.fault({ point: 'webhook', fault: 'silent', feature: 'stylize' });
  await slowlane.studio.fault({ ...fault, feature: 'stylize', times: 1 });
  const { job } = await submit('stylize');
  return await slowlane.api.flagged(job.id);
}

/** What is kept of its sends: webhooks, which may come at any time, aside. */
async function evidenceOf(id: string): Promise<readonly { readonly what: string }[]> {
  const shown = expectStatus(await slowlane.operator.send(`/api/v1/operator/jobs/${id}`), 200);
  return evidenceSchema.parse(shown).evidence.filter(({ what }) => what !== 'vendor_event');
}

async function failByHand(id: string): Promise<void> {
  expectStatus(await slowlane.operator.settle(id, 'fail', { notRunning: true }), 200);
}

/** The job must not be sent again while a person has not decided: some ticks go by without a post. */
async function staysFlagged(id: string): Promise<void> {
  const { posts } = await countingPosts(async () => {
    for (let tick = 0; tick < 3; tick += 1) await slowlane.runtime.reconcile();
  });
  expect([posts, (await slowlane.api.job(id)).status]).toEqual([0, 'needs_attention']);
}

describe('a send that was taken, its answer lost', () => {
  it('is flagged where the vendor can not be asked, and its webhook is the receipt', async () => {
    const { api, studio } = slowlane;
    await studio.fault({ point: 'webhook', fault: 'delay', seconds: 3_600, feature: 'stylize' });
    await studio.fault({ point: 'submit', fault: 'drop-after-accept', feature: 'stylize', times: 1 });
    const { result: id, posts } = await countingPosts(async () => {
      const { job } = await submit('stylize');
      const flagged = await api.flagged(job.id);
      expect(flagged).toMatchObject({
        done: false,
        attention: { code: 'unknown_send' },
        charge: { state: 'possible' },
        error: null,
      });
      expect(flagged.attention?.message).not.toMatch(/try again|retry/i);
      await staysFlagged(job.id);
      await studio.clearFaults();
      expect(await api.done(job.id)).toMatchObject({ status: 'succeeded', attention: null });
      return job.id;
    });
    expect(posts).toBe(1);
    expect(await studio.acceptedFor(id)).toHaveLength(1);
  });

  it('is adopted by an operator who finds it at the vendor', async () => {
    const { api, operator, studio } = slowlane;
    const { result: id, posts } = await countingPosts(async () => {
      const { id } = await flaggedBy({ point: 'submit', fault: 'drop-after-accept' });
      const { id: another } = await flaggedBy({ point: 'submit', fault: 'drop-after-accept' });
      const [taken] = await studio.acceptedFor(id);
      const unknown = await operator.settle(id, 'adopt', { vendorJobId: 'stu_of_nobody' });
      expect(problemOf(unknown).code).toBe('vendor_job_unknown');
      const slip = await operator.settle(another, 'adopt', { vendorJobId: taken?.vendorJobId });
      expect(problemOf(slip)).toMatchObject({ code: 'vendor_job_taken', jobId: id });
      await failByHand(another);
      expectStatus(await operator.settle(id, 'adopt', { vendorJobId: taken?.vendorJobId }), 200);
      expect(await api.done(id)).toMatchObject({ status: 'succeeded', charge: { state: 'certain' } });
      return id;
    });
    expect(posts).toBe(2);
    expect(await studio.acceptedFor(id)).toHaveLength(1);
  });

  it('is bought anew only on an operator’s word that the first can not be running', async () => {
    const { api, operator, studio } = slowlane;
    const { id } = await flaggedBy({ point: 'submit', fault: 'drop-after-accept' });
    const guess = await operator.settle(id, 'resend');
    expect(problemOf(guess)).toMatchObject({ status: 409, code: 'still_may_run' });
    expect(await studio.acceptedFor(id)).toHaveLength(1);
    expectStatus(await operator.settle(id, 'resend', { notRunning: true }), 200);
    expect(await api.done(id)).toMatchObject({ status: 'succeeded' });
    expect((await studio.acceptedFor(id)).map(({ key }) => key)).toEqual([`${id}.1`, `${id}.2`]);
    // An order about the generation before is about another purchase.
    expect(problemOf(await operator.settle(id, 'resend', { notRunning: true })).code).toBe('job_moved_on');
  });

  it('is failed by an operator who knows better', async () => {
    const { api, runtime } = slowlane;
    const { id } = await flaggedBy({ point: 'submit', fault: 'drop-after-accept' });
    await failByHand(id);
    expect(await api.done(id)).toMatchObject({ status: 'failed', error: { code: 'failed_by_operator' } });
    const audited = await slowlane.operator.send(`/api/v1/operator/jobs/${id}`);
    expect(audited.text).toContain('send_unknown');
    await eventually('its event', async () =>
      (await runtime.events()).find((event) => event.detail.jobId === id && event['detail-type'] === 'Job Failed'),
    );
  });

  it('is retaken by itself where the vendor returns the original for our key', async () => {
    const { api, studio } = slowlane;
    await studio.fault({ point: 'submit', fault: 'drop-after-accept', feature: 'upscale', times: 1 });
    const { result: id, posts } = await countingPosts(async () => {
      const { job } = await submit('upscale');
      expect(await api.done(job.id)).toMatchObject({ status: 'succeeded', attention: null });
      return job.id;
    });
    expect(posts).toBe(2);
    expect(await studio.acceptedFor(id)).toHaveLength(1);
  });
});

describe('a send that was not taken, which nobody can tell', () => {
  it('is flagged with the evidence that its body had left, and only a person buys it anew', async () => {
    const { api, operator, studio } = slowlane;
    const { result: id, posts } = await countingPosts(async () => {
      const { id } = await flaggedBy({ point: 'submit', fault: 'drop-before-accept' });
      await staysFlagged(id);
      return id;
    });
    expect(posts).toBe(1);
    expect(await studio.acceptedFor(id)).toEqual([]);
    expect(await evidenceOf(id)).toMatchObject([
      { what: 'send_unknown', vendorKey: `${id}.1`, detail: { bodySent: true } },
    ]);
    expectStatus(await operator.settle(id, 'resend', { notRunning: true }), 200);
    expect(await api.done(id)).toMatchObject({ status: 'succeeded' });
    expect((await studio.acceptedFor(id)).map(({ key }) => key)).toEqual([`${id}.2`]);
  });

  it('can not be adopted, for the vendor has none, and is failed by an operator', async () => {
    const { api, operator, studio } = slowlane;
    const { id } = await flaggedBy({ point: 'submit', fault: 'drop-before-accept' });
    const { status } = await operator.settle(id, 'adopt', { vendorJobId: 'stu_of_nobody' });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(await api.job(id)).toMatchObject({ status: 'needs_attention' });
    await failByHand(id);
    expect(await api.done(id)).toMatchObject({ status: 'failed', error: { code: 'failed_by_operator' } });
    expect(await studio.acceptedFor(id)).toEqual([]);
  });

  it('is retaken where the vendor knows our key', async () => {
    const { api, studio } = slowlane;
    await studio.fault({ point: 'submit', fault: 'drop-before-accept', feature: 'upscale', times: 1 });
    const { job } = await submit('upscale');
    expect(await api.done(job.id)).toMatchObject({ status: 'succeeded' });
    expect(await studio.acceptedFor(job.id)).toHaveLength(1);
  });
});

const ambiguous: [string, Fault][] = [
  ['503', { point: 'submit', fault: 'status', status: 503 }],
  ['500', { point: 'submit', fault: 'status', status: 500 }],
  ['500 although it was taken', { point: 'submit', fault: 'status', status: 500, accept: true }],
  ['408', { point: 'submit', fault: 'status', status: 408 }],
  ['a 2xx that can not be read', { point: 'submit', fault: 'garbage-2xx' }],
  ['a 2xx without an id', { point: 'submit', fault: 'no-id-2xx' }],
  ['silence', { point: 'submit', fault: 'silent-after-accept' }],
];

describe('an answer that says neither yes nor no', () => {
  it.each(ambiguous)('%s: flags what would be bought twice', async (_name, fault) => {
    const { result: id, posts } = await countingPosts(async () => (await flaggedBy(fault)).id);
    expect(posts).toBe(1);
    expect((await slowlane.studio.acceptedFor(id)).length).toBeLessThanOrEqual(1);
    await failByHand(id);
  });

  it.each(ambiguous)('%s: is sent again under the same key where that buys nothing', async (_name, fault) => {
    const { api, studio } = slowlane;
    await studio.fault({ ...fault, feature: 'upscale', times: 1 });
    const { job } = await submit('upscale');
    expect(await api.done(job.id)).toMatchObject({ status: 'succeeded', attention: null });
    expect(await studio.acceptedFor(job.id)).toHaveLength(1);
  });
});

describe('a send that was surely not taken', () => {
  it('waits for a vendor that can not be reached, and is not flagged', async () => {
    const { api, studio } = slowlane;
    await studio.stop();
    const { job } = await submit('stylize');
    // Queued, dispatching, queued again: three versions.
    await api.until(job.id, 'is queued again', ({ status, version }) => status === 'queued' && version >= 3);
    await studio.start();
    expect(await api.done(job.id)).toMatchObject({ status: 'succeeded' });
    expect(await studio.acceptedFor(job.id)).toHaveLength(1);
    // Flagged at any time, it would have evidence.
    expect(await evidenceOf(job.id)).toEqual([]);
  });

  it.each([
    ['seconds', () => 2],
    ['a date', () => new Date(Date.now() + 3_000).toUTCString()],
  ])('waits as long as a 429 says in %s', async (_form, retryAfter) => {
    const { api, studio } = slowlane;
    const startedAtMs = Date.now();
    await studio.fault({
      point: 'submit',
      fault: 'status',
      status: 429,
      retryAfter: retryAfter(),
      feature: 'stylize',
      times: 1,
    });
    const { result: id, posts } = await countingPosts(async () => {
      const { job } = await submit('stylize');
      expect(await api.done(job.id)).toMatchObject({ status: 'succeeded' });
      return job.id;
    });
    expect([posts, await evidenceOf(id)]).toEqual([2, []]);
    const accepted = await studio.acceptedFor(id);
    expect(accepted).toHaveLength(1);
    // A date has no fractions of a second: 3 s from now may be 2 s.
    expect(Date.parse(accepted[0]?.acceptedAt ?? '') - startedAtMs).toBeGreaterThanOrEqual(1_900);
  });

  it.each([400, 422])('fails with the vendor’s reason when it answers %i', async (status) => {
    const { api, studio } = slowlane;
    const reason = 'The picture shows nothing.';
    await studio.fault({ point: 'submit', fault: 'status', status, error: reason, feature: 'stylize', times: 1 });
    const { job } = await submit('stylize');
    expect(await api.done(job.id)).toMatchObject({
      status: 'failed',
      error: { code: 'refused_by_vendor', message: expect.stringContaining(reason), retryable: false },
      charge: { state: 'none' },
    });
    expect(await studio.acceptedFor(job.id)).toEqual([]);
  });
});

describe('an account that the vendor refuses', () => {
  it.each([402, 403])('closes the lane on %i and fails no job', async (status) => {
    const { api, operator, studio } = slowlane;
    await studio.fault({ point: 'submit', fault: 'status', status, error: 'Your account is not in order.' });
    const jobs = await Promise.all([submit('stylize'), submit('upscale'), submit('stylize')]);
    await eventually('the lane is tripped', async () => (await operator.lane()).state === 'tripped' || undefined);
    for (const { job } of jobs) {
      await api.until(job.id, 'is queued again', (seen) => seen.status === 'queued');
    }
    await studio.clearFaults();
    expectStatus(await operator.changeLane({ state: 'open' }), 200);
    for (const { job } of jobs) {
      expect(await api.done(job.id)).toMatchObject({ status: 'succeeded' });
      expect([(await studio.acceptedFor(job.id)).length, await evidenceOf(job.id)]).toEqual([1, []]);
    }
  });

  it('closes the lane on a key that was changed at the vendor, until ours is changed too', async () => {
    const { api, operator, studio } = slowlane;
    await studio.stop();
    await studio.rotateKey('another-key');
    await studio.start();
    const jobs = await Promise.all([submit('stylize'), submit('upscale')]);
    await eventually('the lane is tripped', async () => (await operator.lane()).state === 'tripped' || undefined);
    for (const { job } of jobs) {
      await api.until(job.id, 'is queued again', (seen) => seen.status === 'queued');
    }
    await slowlane.putVendorSecrets('another-key');
    expectStatus(await operator.changeLane({ state: 'open' }), 200);
    for (const { job } of jobs) expect(await api.done(job.id)).toMatchObject({ status: 'succeeded' });
  });
});
