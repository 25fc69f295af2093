import { describe, expect, it } from 'vitest';
import { answerJson, answerNothing, answerProblem, answerRedirect } from '../../../lambdas/http/answer.ts';
import { problem, PROBLEMS, type ProblemCode } from '../../../lambdas/http/problem.ts';

const codes = Object.keys(PROBLEMS) as ProblemCode[];

it.each(codes)('%s is a whole problem', (code) => {
  const { status, title, docs } = PROBLEMS[code];
  expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(600);
  expect(title).toMatch(/[^.]$/);
  expect(docs).toMatch(/\.$/);
});

it('says what the table says, unless the moment knows better', () => {
  expect(problem({ code: 'job_not_found' }, 'r1')).toEqual({
    type: 'urn:slowlane:problem:job_not_found',
    title: 'There is no such job',
    status: 404,
    code: 'job_not_found',
    detail: PROBLEMS.job_not_found.docs,
    requestId: 'r1',
  });
  expect(problem({ code: 'job_not_found', detail: 'No job of this key.' }, 'r1').detail).toBe('No job of this key.');
});

it('lets no extra member stand in for its own', () => {
  const extra = { jobId: 'job_1', status: 200, code: 'fine', requestId: 'forged' };
  expect(problem({ code: 'idempotency_key_reused', extra }, 'r1')).toMatchObject({
    jobId: 'job_1',
    status: 422,
    code: 'idempotency_key_reused',
    requestId: 'r1',
  });
});

describe('answers', () => {
  const standing = { 'Cache-Control': 'no-store', 'Request-Id': 'r1', 'X-Content-Type-Options': 'nosniff' };

  it('say who is answered and that nothing may keep them', () => {
    expect(answerJson(202, { id: 'job_1' }, { requestId: 'r1', headers: { Location: '/api/v1/jobs/job_1' } })).toEqual({
      statusCode: 202,
      headers: { ...standing, 'Content-Type': 'application/json', Location: '/api/v1/jobs/job_1' },
      body: '{"id":"job_1"}',
    });
    expect(answerNothing(204, { requestId: 'r1' })).toEqual({ statusCode: 204, headers: standing });
    expect(answerRedirect('https://files/1', { requestId: 'r1' })).toEqual({
      statusCode: 302,
      headers: { ...standing, Location: 'https://files/1' },
    });
  });

  it('are problems where something is refused', () => {
    const answer = answerProblem({ code: 'submit_rate_limit' }, { requestId: 'r1', retryAfterSeconds: 0.2 });
    expect(answer.statusCode).toBe(429);
    expect(answer.headers).toEqual({ ...standing, 'Content-Type': 'application/problem+json', 'Retry-After': '1' });
    expect(JSON.parse(answer.body ?? '')).toMatchObject({ code: 'submit_rate_limit', requestId: 'r1' });
  });

  it('say how to identify oneself where nobody did', () => {
    const { headers } = answerProblem({ code: 'credentials_missing' }, { requestId: 'r1' });
    expect(headers?.['WWW-Authenticate']).toContain('Bearer');
    expect(answerProblem({ code: 'forbidden' }, { requestId: 'r1' }).headers).not.toHaveProperty('WWW-Authenticate');
  });
});
