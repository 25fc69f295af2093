import { expect, test } from 'vitest';
import { anybody, type Answer } from './api.ts';
import { target } from './target.ts';

const { origin } = target;

const listOf = (answer: Answer, header: string): string[] =>
  (answer.headers.get(header) ?? '').toLowerCase().split(/\s*,\s*/);

test('a browser may send what a submit needs', async () => {
  const answer = await anybody.call('OPTIONS', '/api/v1/jobs', {
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type,idempotency-key',
    },
  });

  expect([200, 204]).toContain(answer.status);
  expect(['*', origin]).toContain(answer.headers.get('access-control-allow-origin'));
  expect(listOf(answer, 'access-control-allow-methods')).toEqual(expect.arrayContaining(['get', 'post', 'delete']));
  expect(listOf(answer, 'access-control-allow-headers')).toEqual(
    expect.arrayContaining(['authorization', 'content-type', 'idempotency-key']),
  );
});

test('a browser may read what an answer says', async () => {
  const answer = await anybody.call('GET', '/api/v1/health', { headers: { Origin: origin } });

  expect(['*', origin]).toContain(answer.headers.get('access-control-allow-origin'));
  expect(listOf(answer, 'access-control-expose-headers')).toEqual(
    expect.arrayContaining(['location', 'idempotent-replayed', 'retry-after', 'request-id']),
  );
});

test('a refusal can be read by a browser too', async () => {
  const answer = await anybody.call('GET', '/api/v1/jobs', { headers: { Origin: origin } });

  expect(answer.status).toBe(401);
  expect(['*', origin]).toContain(answer.headers.get('access-control-allow-origin'));
});
