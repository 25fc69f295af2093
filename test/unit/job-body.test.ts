import { describe, expect, it } from 'vitest';
import { flagCodes, states, type Job, type JobFields, type State } from '../../lambdas/domain/job.ts';
import { newJob } from '../../lambdas/domain/new-job.ts';
import { jobBody, jobBodySchema } from '../../lambdas/http/job-body.ts';
import { jobInState } from '../fixtures/job-in-state.ts';

const createdAt = Date.UTC(2026, 3, 1, 12);

const queued = newJob({
  id: `job_${'a'.repeat(52)}`,
  owner: 'acme/ann',
  feature: 'upscale',
  vendor: 'studio',
  adapterVersion: 1,
  lane: 'default',
  fingerprint: 'v1:0',
  submitToken: 'submit',
  createdAt,
  picture: undefined,
  maxQueueMs: 1,
  maxRunMs: 1,
  rank: 1,
  laneClosedMs: 0,
});

const inState = (state: State, more: Partial<JobFields> = {}): Job => jobInState(queued, state, more);
const secrets: Partial<JobFields> = {
  followers: ['connection-1'],
  claimToken: 'claim-secret',
  submitToken: 'submit-s',
};

describe('the public job', () => {
  it.each(states)('of a %s job is what the schema says, all of it', (state) => {
    const body = jobBody(inState(state));
    expect(jobBodySchema.parse(body)).toEqual(body);
    expect(Object.keys(body).toSorted()).toEqual(Object.keys(jobBodySchema.shape).toSorted());
    expect(Object.values(body)).not.toContain(undefined);
    expect(body.done).toBe(['succeeded', 'failed', 'canceled'].includes(state));
  });

  it('tells nothing of how we work', () => {
    const text = JSON.stringify(jobBody(inState('running', secrets)));
    for (const inner of ['connection-1', 'claim-secret', 'submit-s', 'vendor-1', 'studio', 'acme', 'default']) {
      expect(text).not.toContain(inner);
    }
  });

  it('gives times in ISO 8601 UTC', () => {
    const progress = { percent: 40, stage: 'tiles', at: createdAt + 1_500 };
    const body = jobBody(inState('running', { startedAt: createdAt + 1_000, progress }));
    expect(body).toMatchObject({
      createdAt: '2026-04-01T12:00:00.000Z',
      startedAt: '2026-04-01T12:00:01.000Z',
      progress: { percent: 40, stage: 'tiles', at: '2026-04-01T12:00:01.500Z' },
    });
  });

  it('shows its results with the links that were made, and without where none was', () => {
    const picture = { key: 'results/x', contentType: 'image/png', bytes: 9, width: 2, height: 3 };
    const job = inState('succeeded', { results: [picture] });
    const links = [{ url: 'https://pictures.test/x', expiresAtMs: createdAt }];
    const shown = { contentType: 'image/png', bytes: 9, width: 2, height: 3 };
    const linked = { ...shown, url: 'https://pictures.test/x', expiresAt: '2026-04-01T12:00:00.000Z' };
    expect(jobBody(job, { links })).toMatchObject({ results: [linked], result: linked });
    expect(jobBody(job).result).toEqual({ ...shown, url: null, expiresAt: null });
  });

  it('shows its place while it is queued', () => {
    const place = { ahead: 3, estimatedStartAt: undefined };
    expect(jobBody(queued, { place }).queue).toEqual({ ahead: 3, estimatedStartAt: null });
    expect(jobBody(queued).queue).toBeNull();
  });
});

describe('a flagged job', () => {
  it.each(flagCodes)('with %s says so, and never advises another attempt', (code) => {
    const { attention } = jobBody(inState('needs_attention', { flag: { code, since: createdAt } }));
    expect(attention).toMatchObject({ code, since: '2026-04-01T12:00:00.000Z' });
    expect(attention?.message).toMatch(/\w/);
    expect(attention?.message).not.toMatch(/try|again|retry|resubmit|new job/i);
  });

  it('shows no flag once it was settled', () => {
    expect(jobBody(inState('failed')).attention).toBeNull();
  });
});

describe('the charge', () => {
  it.each<[string, State, Partial<JobFields>, string]>([
    ['queued', 'queued', {}, 'none'],
    ['queued for a second generation', 'queued', { generation: 2 }, 'possible'],
    ['being sent', 'dispatching', {}, 'possible'],
    ['taken', 'running', {}, 'certain'],
    ['unclear', 'needs_attention', { maybeSent: true }, 'possible'],
    ['done', 'succeeded', {}, 'certain'],
    ['refused', 'failed', {}, 'none'],
    ['failed after it was taken', 'failed', { vendorJobId: 'vendor-1' }, 'possible'],
    ['failed by a person, unclear', 'failed', { maybeSent: true }, 'possible'],
    ['canceled in the queue', 'canceled', {}, 'none'],
    ['canceled at the vendor', 'canceled', { vendorJobId: 'vendor-1' }, 'possible'],
  ])('of a job that is %s', (_, state, more, charge) => {
    const price = { amount: 0.04, currency: 'USD' };
    const shown = charge === 'none' ? { amount: null, currency: null } : price;
    expect(jobBody(inState(state, more), { price }).charge).toEqual({ state: charge, ...shown });
  });

  it('has no amount where the deployment states no price', () => {
    expect(jobBody(inState('succeeded')).charge).toEqual({ state: 'certain', amount: null, currency: null });
  });
});

describe('an error', () => {
  it.each([
    ['expired_in_queue', true],
    ['sends_spent', true],
    ['failed_at_vendor', true],
    ['refused_by_vendor', false],
    ['failed_by_operator', false],
  ])('%s: whether a new action may succeed is %s', (code, retryable) => {
    const failure = { code, message: 'Why.' };
    expect(jobBody(inState('failed', { failure })).error).toEqual({ ...failure, retryable });
  });
});

describe('a warning', () => {
  it('tells that a job was finished before it could be canceled', () => {
    const { warnings } = jobBody(inState('succeeded', { cancelRequestedAt: createdAt }));
    expect(warnings.map(({ code }) => code)).toEqual(['finished_before_cancel']);
  });

  it('tells that a job which a person failed may still run', () => {
    const { warnings } = jobBody(inState('failed', { hold: { token: 'hold' } }));
    expect(warnings.map(({ code }) => code)).toEqual(['may_still_run']);
  });
});
