import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { dispatchJob } from '../../lambdas/domain/dispatch-job.ts';
import { ownerOf, type JobFields } from '../../lambdas/domain/job.ts';
import { flaggedListSchema } from '../../lambdas/http/list-flagged.ts';
import { operatorJobReadSchema } from '../../lambdas/http/operate-jobs.ts';
import { settledSchema } from '../../lambdas/http/settled.ts';
import { settledManySchema } from '../../lambdas/http/settle-many.ts';
import { pending, succeeded, unreachable } from '../fakes/told-vendor.ts';
import { OperatorGateway, type Answer } from '../fixtures/operator-gateway.ts';
import { noon } from '../fixtures/stored-job.ts';

let gateway: OperatorGateway;
beforeEach(async () => {
  gateway = new OperatorGateway();
  await gateway.grantKey('operator', 'acme', ['operator']);
  await gateway.grantKey('stranger', 'evil', ['operator', 'jobs', 'tokens', 'act-for-user']);
  await gateway.grantKey('app-server', 'acme', ['jobs', 'tokens', 'act-for-user']);
});

const key = 'operator';
const reason = 'the vendor confirmed it by mail';
const list = (query: Record<string, string> = {}, as = key) =>
  gateway.call('GET /api/v1/operator/flagged', { key: as, query });
const show = (id: string, as = key) => gateway.call('GET /api/v1/operator/jobs/{id}', { key: as, path: { id } });
const order = (action: string, body: Record<string, unknown> = {}, as = key, id = 'job_a') =>
  gateway.call(`POST /api/v1/operator/jobs/{id}/${action}`, {
    key: as,
    path: { id },
    body: { reason, generation: 1, ...body },
  });
const settle = (body: Record<string, unknown>, as = key) =>
  gateway.call('POST /api/v1/operator/flagged/settle', {
    key: as,
    body: { reason, filter: {}, dryRun: false, ...body },
  });
const codeOf = ({ status, body }: Answer) => `${status} ${String(body['code'])}`;
const job = () => gateway.jobs.get('job_a');
const actionsOf = async (id = 'job_a') => (await gateway.audit.read(id)).map(({ action }) => action);
const heldOf = (lane = 'default') => Object.keys(gateway.lanes.get(lane).held);

describe('who may', () => {
  const routes = [
    ['GET /api/v1/operator/flagged', () => list({}, 'app-server')],
    ['GET /api/v1/operator/jobs/{id}', () => show('job_a', 'app-server')],
    ['POST /api/v1/operator/jobs/{id}/adopt', () => order('adopt', { vendorJobId: 'v' }, 'app-server')],
    ['POST /api/v1/operator/jobs/{id}/retake', () => order('retake', {}, 'app-server')],
    ['POST /api/v1/operator/jobs/{id}/resend', () => order('resend', {}, 'app-server')],
    ['POST /api/v1/operator/jobs/{id}/fail', () => order('fail', {}, 'app-server')],
    ['POST /api/v1/operator/flagged/settle', () => settle({ action: 'fail' }, 'app-server')],
  ] as const;

  it.each(routes)('%s needs the scope `operator`', async (route, callAsApp) => {
    const before = gateway.put('needs_attention');
    expect(codeOf(await callAsApp())).toBe('403 forbidden');
    expect(codeOf(await gateway.call(route, { path: { id: 'job_a' } }))).toBe('401 credentials_missing');
    expect(job()).toEqual(before);
  });

  it("another tenant's operator sees and moves nothing of ours", async () => {
    const before = gateway.put('needs_attention');
    expect(codeOf(await show('job_a', 'stranger'))).toBe('404 job_not_found');
    for (const action of ['retake', 'resend', 'fail']) {
      expect(codeOf(await order(action, {}, 'stranger'))).toBe('404 job_not_found');
    }
    expect(codeOf(await order('adopt', { vendorJobId: 'vendor-job-1' }, 'stranger'))).toBe('404 job_not_found');
    expect((await list({}, 'stranger')).body).toMatchObject({ flagged: [], counts: {} });
    expect((await settle({ action: 'fail' }, 'stranger')).body).toMatchObject({ results: [] });
    expect(job()).toEqual(before);
    expect(await actionsOf()).toEqual([]);
  });
});

describe('the list', () => {
  const flag = (code: 'unknown_send' | 'overdue' | 'vendor_lost_job', minute: number) => ({
    flag: { code, since: noon + minute * 60_000 },
  });
  const names = ({ body }: Answer) => flaggedListSchema.parse(body).flagged.map(({ job: { id } }) => id);

  beforeEach(() => {
    gateway.put('needs_attention', { id: 'job_b', ...flag('unknown_send', 2), hold: { token: 'hold-b' } });
    gateway.put('needs_attention', { id: 'job_c', ...flag('overdue', 1), lane: 'slow', hold: { token: 'hold-c' } });
    gateway.put('needs_attention', { id: 'job_d', ...flag('unknown_send', 3), vendor: 'blind', hold: undefined });
    gateway.put('needs_attention', {
      id: 'job_x',
      ...flag('overdue', 0),
      owner: ownerOf('evil', 'eve'),
      hold: undefined,
    });
    gateway.put('running', { id: 'job_r', hold: { token: 'hold-r' } });
    gateway.put('failed', { id: 'job_f', hold: { token: 'hold-f' }, finishedAt: noon + 4 * 60_000, flag: undefined });
  });

  it('is of all lanes, oldest first, with counts by cause', async () => {
    const answer = await list();
    expect(names(answer)).toEqual(['job_c', 'job_b', 'job_d', 'job_f']);
    expect(answer.body['counts']).toEqual({ unknown_send: 2, overdue: 1, may_still_run: 1 });
    expect(answer.body).toMatchObject({ nextCursor: null, complete: true });
  });

  it('has what a person needs to look a job up at the vendor', async () => {
    const { flagged } = flaggedListSchema.parse((await list({ code: 'unknown_send', vendor: 'studio' })).body);
    expect(flagged).toMatchObject([
      {
        user: 'ann',
        lane: 'default',
        cause: 'unknown_send',
        since: '2026-01-01T12:02:00.000Z',
        vendor: 'studio',
        vendorKey: 'job_b.1',
        vendorJobId: null,
        generation: 1,
        maybeSent: true,
        held: true,
        cantBeRunningFrom: '2026-01-01T12:10:45.000Z',
        job: { status: 'needs_attention', charge: { state: 'possible', amount: 0.04 } },
      },
    ]);
  });

  it('is filtered by lane, cause and vendor; the counts are of all causes', async () => {
    expect(names(await list({ lane: 'slow' }))).toEqual(['job_c']);
    expect(names(await list({ vendor: 'blind' }))).toEqual(['job_d']);
    expect(names(await list({ code: 'may_still_run' }))).toEqual(['job_f']);
    expect(names(await list({ lane: 'no-such-lane' }))).toEqual([]);
    expect((await list({ code: 'overdue' })).body['counts']).toMatchObject({ unknown_send: 2, overdue: 1 });
  });

  it('goes on page by page, and past jobs that were settled in between', async () => {
    const first = await list({ limit: '2' });
    expect(names(first)).toEqual(['job_c', 'job_b']);
    gateway.put('succeeded', { id: 'job_b' });
    const second = await list({ limit: '1', cursor: String(first.body['nextCursor']) });
    expect(names(second)).toEqual(['job_d']);
    const third = await list({ limit: '2', cursor: String(second.body['nextCursor']) });
    expect(names(third)).toEqual(['job_f']);
    expect(third.body['nextCursor']).toBeNull();
  });

  it('takes no cursor of another list, nor a forged one', async () => {
    const cursor = String((await list({ limit: '1' })).body['nextCursor']);
    expect(codeOf(await list({ limit: '1', lane: 'slow', cursor }))).toBe('400 cursor_invalid');
    expect(codeOf(await list({ limit: '1', cursor }, 'stranger'))).toBe('400 cursor_invalid');
    expect(codeOf(await list({ cursor: 'forged.forged' }))).toBe('400 cursor_invalid');
  });

  it.each<[Record<string, string>]>([
    [{ limit: '0' }],
    [{ limit: '51' }],
    [{ code: 'bad_luck' }],
    [{ tenant: 'evil' }],
  ])('refuses %j', async (query) => {
    expect(codeOf(await list(query))).toBe('400 request_invalid');
  });

  const filled = (count: number, fields: (nth: number) => Partial<JobFields>) => {
    for (let nth = 0; nth < count; nth += 1) {
      const id = `job_z${String(nth).padStart(4, '0')}`;
      const since = noon + 600_000 + nth;
      gateway.put('needs_attention', {
        id,
        flag: { code: 'unknown_send', since },
        hold: undefined,
        lane: nth % 3 === 0 ? 'slow' : 'default',
        ...fields(nth),
      });
    }
  };

  /** Every page until the end, and how many jobs each of them read strongly. */
  async function pages(
    query: Record<string, string>,
  ): Promise<{ names: string[]; counts: unknown[]; reads: number[] }> {
    const found = { names: [] as string[], counts: [] as unknown[], reads: [] as number[] };
    const read = gateway.jobs.read.bind(gateway.jobs);
    let reads = 0;
    gateway.jobs.read = async (id) => {
      reads += 1;
      return await read(id);
    };
    let cursor: string | undefined;
    do {
      reads = 0;
      const answer = await list(cursor === undefined ? query : { ...query, cursor });
      found.names.push(...names(answer));
      found.counts.push(answer.body['counts']);
      found.reads.push(reads);
      cursor = (answer.body['nextCursor'] as string | null) ?? undefined;
    } while (cursor !== undefined);
    return found;
  }

  it('reads no more jobs than its page shows, and counts all of them once', async () => {
    filled(300, () => ({}));
    const { names: all, counts, reads } = await pages({ limit: '50' });
    expect(all).toHaveLength(304);
    expect(new Set(all).size).toBe(304);
    expect(all.slice(0, 5)).toEqual(['job_c', 'job_b', 'job_d', 'job_f', 'job_z0000']);
    expect(all.slice(4)).toEqual(all.slice(4).toSorted());
    const counted = { overdue: 1, unknown_send: 302, may_still_run: 1 };
    expect(counts).toEqual(reads.map(() => counted));
    // One that another tenant's job made room for, at most.
    expect(Math.max(...reads)).toBeLessThanOrEqual(60);
  });

  it('goes on where few match, with short pages, and loses none of them', async () => {
    filled(500, (nth) => ({ vendor: nth % 100 === 99 ? 'blind' : 'studio' }));
    const { names: blind, counts, reads } = await pages({ vendor: 'blind', limit: '50' });
    expect(blind).toEqual(['job_d', 'job_z0099', 'job_z0199', 'job_z0299', 'job_z0399', 'job_z0499']);
    expect(counts[0]).toEqual({ unknown_send: 6 });
    expect(reads.length).toBeGreaterThan(1);
    expect(Math.max(...reads)).toBeLessThanOrEqual(250);
  });

  it('counts no further than it says', async () => {
    filled(5_100, () => ({}));
    expect((await list()).body['complete']).toBe(false);
  });
});

describe('one job', () => {
  it('is shown with its evidence and what people did', async () => {
    gateway.put('needs_attention');
    const detail = { cause: 'timeout', bodySent: true };
    const seen = { at: noon, attempt: 1, generation: 1, vendorKey: 'job_a.1', what: 'send_unknown', detail };
    await gateway.evidence.add('job_a', seen);
    await order('fail');
    const { job: shown, evidence, audit } = operatorJobReadSchema.parse((await show('job_a')).body);
    expect(shown).toMatchObject({ cause: 'may_still_run', held: true, job: { status: 'failed' } });
    expect(evidence).toMatchObject([{ what: 'send_unknown', at: '2026-01-01T12:00:00.000Z', detail }]);
    expect(audit).toMatchObject([{ action: 'fail', reason, actor: 'key:acme/key-of-operator' }]);
  });

  it('is shown in every state, and is gone once erased', async () => {
    const done = gateway.put('succeeded');
    expect((await show('job_a')).body).toMatchObject({ job: { cause: null, since: null, held: false } });
    await gateway.jobs.erase(done, noon);
    expect(codeOf(await show('job_a'))).toBe('410 job_gone');
    expect(codeOf(await show('job_a', 'stranger'))).toBe('404 job_not_found');
    expect(codeOf(await show('job_none'))).toBe('404 job_not_found');
  });
});

describe('every order', () => {
  const actions = ['adopt', 'retake', 'resend', 'fail'];
  const bodyFor = (action: string) => (action === 'adopt' ? { vendorJobId: 'vendor-job-1' } : {});

  it.each(actions)('%s needs a reason and the generation that was seen', async (action) => {
    const before = gateway.put('needs_attention');
    for (const wrong of [{ reason: '  ' }, { reason: 'x'.repeat(501) }, { generation: 0 }, { generation: undefined }]) {
      expect(codeOf(await order(action, { ...bodyFor(action), ...wrong }))).toBe('400 request_invalid');
    }
    expect(codeOf(await order(action, { ...bodyFor(action), force: true }))).toBe('400 request_invalid');
    expect(job()).toEqual(before);
  });

  it.each(actions)('%s about an older generation is refused, with the job as it is', async (action) => {
    const before = gateway.put('needs_attention', { generation: 2 });
    const answer = await order(action, bodyFor(action));
    expect(codeOf(answer)).toBe('409 job_moved_on');
    expect(answer.body['job']).toMatchObject({ generation: 2, job: { status: 'needs_attention' } });
    expect(job()).toEqual(before);
    expect(await actionsOf()).toEqual([]);
  });

  it.each(actions)('%s of a job that has succeeded meanwhile changes nothing', async (action) => {
    const before = gateway.put('succeeded');
    expect(
      codeOf(await order(action, { ...bodyFor(action), ...(action === 'fail' ? { notRunning: true } : {}) })),
    ).toBe('409 job_moved_on');
    expect(job()).toEqual(before);
  });

  it.each(actions)('%s as a dry run says what would happen, and changes nothing', async (action) => {
    gateway.studio.words.set('vendor-job-1', pending);
    await gateway.clock.advance(3_600_000);
    const before = gateway.put('needs_attention');
    const answer = await order(action, { ...bodyFor(action), dryRun: true });
    expect(answer.status).toBe(200);
    expect(settledSchema.parse(answer.body)).toMatchObject({
      dryRun: true,
      job: { job: { status: 'needs_attention' } },
    });
    expect(job()).toEqual(before);
    expect(await actionsOf()).toEqual([]);
    expect(gateway.doorbell.rings).toEqual([]);
    expect(heldOf()).toEqual(['hold-1']);
  });

  it.each(['adopt', 'retake', 'resend'])('%s needs the vendor to be configured still', async (action) => {
    gateway.put('needs_attention', { vendor: 'closed-down' });
    expect(codeOf(await order(action, bodyFor(action)))).toBe('409 vendor_not_configured');
  });

  it('is told to the followers', async () => {
    gateway.put('needs_attention', { followers: ['c1='] });
    await order('retake');
    expect(gateway.told).toMatchObject([{ type: 'job', job: { state: 'dispatching' } }]);
  });
});

describe('adopt', () => {
  const adopt = (body = {}) => order('adopt', { vendorJobId: 'vendor-job-1', ...body });

  it('takes over what the vendor says is running, and rings for its watch', async () => {
    gateway.put('needs_attention');
    gateway.studio.words.set('vendor-job-1', pending);
    expect(settledSchema.parse((await adopt()).body)).toMatchObject({
      job: { vendorJobId: 'vendor-job-1', cause: null },
    });
    expect(job()).toMatchObject({ state: 'running', vendorJobId: 'vendor-job-1' });
    expect(gateway.doorbell.rings).toMatchObject([{ hint: 'job_a' }]);
    expect(await gateway.audit.read('job_a')).toMatchObject([
      { detail: { generation: 1, vendorJobId: 'vendor-job-1' } },
    ]);
  });

  it('ends a job that had finished long ago: our own copy, its unit freed, its event sent', async () => {
    gateway.put('needs_attention');
    gateway.studio.words.set('vendor-job-1', succeeded);
    expect((await adopt()).status).toBe(200);
    expect(job()).toMatchObject({ state: 'succeeded', hold: undefined });
    expect(gateway.files.keys).toEqual(['results/acme/ann/job_a/1-0']);
    expect(heldOf()).toEqual([]);
    expect(gateway.announced).toMatchObject([{ job: { state: 'succeeded' } }]);
  });

  it('is refused where the vendor does not know the job, or does not answer', async () => {
    const before = gateway.put('needs_attention');
    expect(codeOf(await adopt())).toBe('422 vendor_job_unknown');
    gateway.studio.words.set('vendor-job-1', unreachable);
    const answer = await adopt();
    expect(codeOf(answer)).toBe('503 vendor_unreachable');
    expect(answer.headers['Retry-After']).toBe('5');
    expect(job()).toEqual(before);
    expect(await actionsOf()).toEqual([]);
  });

  it("is refused where another job owns the vendor's; whose it is, only its own tenant hears", async () => {
    gateway.studio.words.set('vendor-job-1', pending);
    const before = gateway.put('needs_attention');
    gateway.put('running', { id: 'job_b', hold: { token: 'hold-b' } });
    await gateway.jobs.linkVendorJob('studio', 'vendor-job-1', 'job_b', 1);
    const ours = await adopt();
    expect(codeOf(ours)).toBe('409 vendor_job_taken');
    expect(ours.body['jobId']).toBe('job_b');
    gateway.put('running', { id: 'job_b', owner: ownerOf('evil', 'eve'), hold: { token: 'hold-b' } });
    expect((await adopt()).body['jobId']).toBeNull();
    expect(job()).toEqual(before);
  });

  it.each([
    ['job_b.1', 'job_b'],
    ['job_a.2', 'job_a'],
    ['job_e.1', null],
    ['order-7 of another customer', null],
  ])(
    'is refused where the vendor says that it was taken under %s: it is not this action’s picture',
    async (key, jobId) => {
      gateway.put('running', { id: 'job_b', hold: { token: 'hold-b' } });
      gateway.put('queued', { id: 'job_e', owner: ownerOf('evil', 'eve') });
      const before = gateway.put('needs_attention');
      gateway.studio.words.set('vendor-job-1', succeeded);
      gateway.studio.keys.set('vendor-job-1', key);
      const answer = await adopt();
      expect(codeOf(answer)).toBe('409 vendor_job_taken');
      expect(answer.body['jobId']).toBe(jobId);
      expect(job()).toEqual(before);
      expect(await actionsOf()).toEqual([]);
      gateway.studio.keys.set('vendor-job-1', 'job_a.1');
      expect((await adopt()).status).toBe(200);
    },
  );
});

describe('retake', () => {
  it('has a worker send the same key once more, though the budget was spent when it was parked', async () => {
    await gateway.clock.advance(3_600_000);
    gateway.put('needs_attention', { tries: 3, sends: 3 });
    await gateway.jobs.putRequest('job_a', 'submit-1', { parameters: {}, metadata: undefined, consent: undefined });
    await gateway.files.put('inputs/acme/ann/job_a/submit-1', new Uint8Array([1]), 'image/jpeg');
    expect((await order('retake')).status).toBe(200);
    expect(gateway.studio.submissions).toEqual([]);
    const [ring] = gateway.doorbell.take();
    expect(ring).toMatchObject({ hint: 'job_a' });
    await gateway.clock.advance(ring?.delayMs ?? 0);
    const shift = { endsAt: gateway.clock.now() + 300_000, signal: AbortSignal.timeout(20_000) };
    gateway.studio.words.set('vendor-job-1', succeeded);
    await dispatchJob(gateway.world, { lane: 'default', hint: 'job_a' }, shift);
    expect(gateway.studio.submissions.map(({ vendorKey }) => vendorKey)).toEqual(['job_a.1']);
    expect(job()).toMatchObject({ state: 'succeeded', generation: 1, vendorJobId: 'vendor-job-1' });
    expect(heldOf()).toEqual([]);
  });

  it('is parked again after one more send that nobody knows the answer of', async () => {
    await gateway.clock.advance(3_600_000);
    gateway.put('needs_attention', { tries: 3, sends: 3 });
    await gateway.jobs.putRequest('job_a', 'submit-1', { parameters: {}, metadata: undefined, consent: undefined });
    await gateway.files.put('inputs/acme/ann/job_a/submit-1', new Uint8Array([1]), 'image/jpeg');
    gateway.studio.outcome = { kind: 'unknown', cause: 'reset', message: 'reset', bodySent: true, keyReused: false };
    await order('retake');
    await gateway.clock.advance(1_000);
    const shift = { endsAt: gateway.clock.now() + 300_000, signal: AbortSignal.timeout(20_000) };
    await dispatchJob(gateway.world, { lane: 'default', hint: 'job_a' }, shift);
    expect(gateway.studio.submissions).toHaveLength(1);
    expect(job()).toMatchObject({ state: 'needs_attention', hold: { token: 'hold-1' }, maybeSent: true });
  });

  it.each<[string, () => unknown]>([
    ['the vendor buys again', () => (gateway.studio.traits = { ...gateway.studio.traits, dedupe: 'none' })],
    ['it took the job', () => gateway.put('needs_attention', { vendorJobId: 'vendor-job-1' })],
    ['its unit was freed', () => gateway.put('needs_attention', { hold: undefined })],
    ['its owner wants it canceled', () => gateway.put('needs_attention', { cancelRequestedAt: noon })],
    ['the vendor may have forgotten the key', () => gateway.clock.advance(86_400_000)],
  ])('is not possible where %s', async (_, given) => {
    gateway.put('needs_attention');
    await given();
    const before = job();
    const answer = await order('retake');
    expect(codeOf(answer)).toBe('409 retake_not_possible');
    expect(answer.body['detail']).toMatch(/\.$/);
    expect(job()).toEqual(before);
  });
});

describe('resend', () => {
  it('is refused with the time from which it is allowed, and allowed from then on', async () => {
    const before = gateway.put('needs_attention');
    const answer = await order('resend');
    expect(codeOf(answer)).toBe('409 still_may_run');
    expect(answer.body['allowedFrom']).toBe('2026-01-01T12:10:45.000Z');
    expect(job()).toEqual(before);
    await gateway.clock.advanceTo(Date.parse(String(answer.body['allowedFrom'])));
    expect((await order('resend')).status).toBe(200);
    expect(job()).toMatchObject({ state: 'queued', generation: 2, hold: undefined, maybeSent: false });
    expect(heldOf()).toEqual([]);
    expect(gateway.doorbell.rings.map(({ hint }) => hint)).toContain('job_a');
  });

  it('is allowed at once to a person who vouches that nothing runs', async () => {
    gateway.put('needs_attention');
    expect((await order('resend', { notRunning: true })).status).toBe(200);
    expect(job()).toMatchObject({ state: 'queued', generation: 2 });
    expect(await gateway.audit.read('job_a')).toMatchObject([{ action: 'resend', detail: { notRunning: true } }]);
  });

  it('never goes against the word of the vendor that it runs, whoever vouches', async () => {
    const before = gateway.put('needs_attention', { vendorJobId: 'vendor-job-1', hold: undefined });
    gateway.studio.words.set('vendor-job-1', pending);
    for (const notRunning of [false, true]) {
      const answer = await order('resend', { notRunning });
      expect(codeOf(answer)).toBe('409 still_may_run');
      expect(answer.body['allowedFrom']).toBeNull();
    }
    expect(job()).toEqual(before);
  });

  it('waits for the word of a vendor that took the job, unless a person vouches', async () => {
    await gateway.clock.advance(86_400_000);
    const before = gateway.put('needs_attention', { vendorJobId: 'vendor-job-1', hold: undefined });
    gateway.studio.words.set('vendor-job-1', unreachable);
    expect(codeOf(await order('resend'))).toBe('503 vendor_unreachable');
    expect(job()).toEqual(before);
    expect((await order('resend', { notRunning: true })).status).toBe(200);
    expect(job()).toMatchObject({ state: 'queued', generation: 2 });
  });

  it('takes the picture instead, where the vendor has it after all', async () => {
    gateway.put('needs_attention', { vendorJobId: 'vendor-job-1' });
    gateway.studio.words.set('vendor-job-1', succeeded);
    const answer = await order('resend', { notRunning: true });
    expect(codeOf(answer)).toBe('409 job_moved_on');
    expect(answer.body['job']).toMatchObject({ job: { status: 'succeeded' } });
    expect(job()).toMatchObject({ state: 'succeeded', generation: 1 });
  });

  it('ordered twice with what was seen once buys once', async () => {
    gateway.put('needs_attention');
    const answers = await Promise.all([1, 2, 3].map(() => order('resend', { notRunning: true })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(job()).toMatchObject({ state: 'queued', generation: 2 });
  });
});

describe('fail', () => {
  it('ends the job for its user, and keeps its unit while it may be running', async () => {
    gateway.put('needs_attention');
    const answer = await order('fail');
    expect(settledSchema.parse(answer.body).job).toMatchObject({
      cause: 'may_still_run',
      held: true,
      job: { status: 'failed', error: { code: 'failed_by_operator' }, warnings: [{ code: 'may_still_run' }] },
    });
    expect(heldOf()).toEqual(['hold-1']);
    expect(gateway.announced).toMatchObject([{ job: { state: 'failed' } }]);
  });

  it('ends a job that waits: nothing of it is at the vendor', async () => {
    gateway.put('queued');
    expect((await order('fail', { dryRun: true })).status).toBe(200);
    expect(job()).toMatchObject({ state: 'queued' });
    const answer = await order('fail');
    expect(settledSchema.parse(answer.body).job).toMatchObject({
      cause: null,
      held: false,
      job: { status: 'failed', error: { code: 'failed_by_operator' }, charge: { state: 'none' } },
    });
    expect(gateway.announced).toMatchObject([{ job: { state: 'failed' } }]);
    expect(await actionsOf()).toEqual(['fail']);
    expect(codeOf(await order('fail'))).toBe('409 job_moved_on');
  });

  it('frees the unit where a person vouches, also later', async () => {
    gateway.put('needs_attention');
    await order('fail');
    expect(codeOf(await order('fail'))).toBe('409 job_moved_on');
    expect((await order('fail', { notRunning: true })).status).toBe(200);
    expect(job()).toMatchObject({ state: 'failed', hold: undefined });
    expect(heldOf()).toEqual([]);
    expect(await actionsOf()).toEqual(['fail', 'fail']);
  });

  it('asks the vendor to stop what may still run, and invites nobody to buy it again meanwhile', async () => {
    gateway.put('running', { vendorJobId: 'vendor-job-7' });
    const { error } = settledSchema.parse((await order('fail')).body).job.job;
    expect(gateway.studio.canceled).toEqual(['vendor-job-7']);
    expect(error?.message).not.toMatch(/new one|again/iu);
  });

  it('leaves a vendor alone whose job is over, as a person vouches', async () => {
    gateway.put('needs_attention', { vendorJobId: 'vendor-job-7' });
    const { error } = settledSchema.parse((await order('fail', { notRunning: true })).body).job.job;
    expect(gateway.studio.canceled).toEqual([]);
    expect(error?.message).toMatch(/new one/u);
  });

  it('ends a running job, and one whose vendor is no longer configured', async () => {
    gateway.put('running', { vendor: 'closed-down' });
    expect((await order('fail', { notRunning: true })).status).toBe(200);
    expect(job()).toMatchObject({ state: 'failed', hold: undefined });
  });
});

describe('settling many', () => {
  const resultsOf = ({ body }: Answer) =>
    settledManySchema.parse(body).results.map(({ jobId, outcome }) => `${jobId} ${outcome}`);

  beforeEach(() => {
    const since = (minute: number) => ({ code: 'unknown_send' as const, since: noon + minute * 10_000 });
    gateway.put('needs_attention', { id: 'job_b', flag: since(1), hold: { token: 'hold-b' } });
    gateway.put('needs_attention', { id: 'job_c', flag: since(2), hold: undefined });
    gateway.put('needs_attention', { id: 'job_d', flag: since(3), hold: { token: 'hold-d' }, vendor: 'blind' });
  });

  it('first says what would happen', async () => {
    const answer = await settle({ action: 'resend', dryRun: true });
    expect(resultsOf(answer)).toEqual(['job_b still_may_run', 'job_c would', 'job_d still_may_run']);
    expect(answer.body['results']).toMatchObject([{ allowedFrom: '2026-01-01T12:10:45.000Z' }, {}, {}]);
    expect(gateway.jobs.all().every(({ state }) => state === 'needs_attention')).toBe(true);
  });

  it('does what can be done for each, and tells of every other', async () => {
    expect(resultsOf(await settle({ action: 'resend' }))).toEqual([
      'job_b still_may_run',
      'job_c done',
      'job_d still_may_run',
    ]);
    expect(gateway.jobs.get('job_c')).toMatchObject({ state: 'queued', generation: 2 });
    expect(await actionsOf('job_c')).toEqual(['resend']);
  });

  it('is of what the filter names only', async () => {
    expect(resultsOf(await settle({ action: 'fail', filter: { vendor: 'blind' } }))).toEqual(['job_d done']);
    expect(gateway.jobs.get('job_b').state).toBe('needs_attention');
  });

  it('goes on where it stopped', async () => {
    const first = await settle({ action: 'retake', limit: 2 });
    expect(resultsOf(first)).toEqual(['job_b done', 'job_c retake_not_possible']);
    const second = await settle({ action: 'retake', limit: 2, cursor: first.body['nextCursor'] });
    expect(resultsOf(second)).toEqual(['job_d done']);
    expect(second.body['nextCursor']).toBeNull();
  });

  it('stops in time, and says from where to go on', async () => {
    const add = gateway.audit.add.bind(gateway.audit);
    gateway.audit.add = async (subject, entry) => {
      await add(subject, entry);
      await gateway.clock.advance(10_001);
    };
    const first = await settle({ action: 'fail' });
    expect(resultsOf(first)).toEqual(['job_b done']);
    const second = await settle({ action: 'fail', cursor: first.body['nextCursor'] });
    expect(resultsOf(second)).toEqual(['job_c done']);
  });

  it('leaves what was flagged after it began, also on its next pages: no order buys twice', async () => {
    const first = await settle({ action: 'resend', notRunning: true, limit: 1 });
    expect(resultsOf(first)).toEqual(['job_b done']);
    const now = gateway.clock.now() + 240_000;
    await gateway.clock.advanceTo(now);
    gateway.put('needs_attention', { id: 'job_b', generation: 2, flag: { code: 'unknown_send', since: now } });
    const second = await settle({ action: 'resend', notRunning: true, cursor: first.body['nextCursor'] });
    expect(resultsOf(second)).toEqual(['job_c done', 'job_d done']);
    expect(gateway.jobs.get('job_b')).toMatchObject({ state: 'needs_attention', generation: 2 });
  });

  it('frees what was failed before only where that is named', async () => {
    await settle({ action: 'fail' });
    expect(resultsOf(await settle({ action: 'fail', notRunning: true }))).toEqual([]);
    expect(heldOf()).toEqual(['hold-b', 'hold-d']);
    const named = await settle({ action: 'fail', notRunning: true, filter: { code: 'may_still_run' } });
    expect(resultsOf(named)).toEqual(['job_b done', 'job_d done']);
    expect(heldOf()).toEqual([]);
  });

  it("tells of the others although one's outcome is not known", async () => {
    const move = gateway.jobs.move.bind(gateway.jobs);
    gateway.jobs.move = (moving) =>
      moving.job.id === 'job_b' ? Promise.reject(new Error('DynamoDB does not answer')) : move(moving);
    expect(resultsOf(await settle({ action: 'fail' }))).toEqual(['job_b unavailable', 'job_c done', 'job_d done']);
    expect(gateway.logged).toContainEqual(expect.objectContaining({ event: 'settling_failed', jobId: 'job_b' }));
  });

  it.each<[string, Record<string, unknown>]>([
    ['whether it is a dry run', { action: 'fail', dryRun: undefined }],
    ['a filter', { action: 'fail', filter: undefined }],
    ['an action', {}],
    ['an action that fits many', { action: 'adopt' }],
    ['a filter that exists', { action: 'fail', filter: { owner: 'acme/ann' } }],
    ['nothing that a retake has no use for', { action: 'retake', notRunning: true }],
  ])('needs to be told %s', async (_, body) => {
    expect(codeOf(await settle(body))).toBe('400 request_invalid');
    expect(gateway.jobs.all().every(({ state }) => state === 'needs_attention')).toBe(true);
  });
});

it('logs who did what with which outcome, and no reason that a person wrote', async () => {
  gateway.put('needs_attention');
  await order('fail');
  const acted = z.object({ event: z.literal('operator_acted') }).loose();
  const lines = gateway.logged.filter((line) => acted.safeParse(line).success);
  expect(lines).toMatchObject([
    { jobId: 'job_a', reason: 'fail', keyId: 'key-of-operator', generation: 1, outcome: 'done' },
  ]);
  expect(JSON.stringify(gateway.logged)).not.toContain(reason);
});
