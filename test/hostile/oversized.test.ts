import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';
import { atMost, cpuMsOf, largestBody } from './cpu-time.ts';
import { eventOf } from './request.ts';
import { Target } from './target.ts';
import { wrongWithAnswer } from './verdict.ts';

/** What fits into a request of API Gateway and is made to cost too much, or to be answered with too much. */

let photo: Uint8Array;
let target: Target;
beforeAll(async () => {
  photo = await photoWithPlace();
});
beforeEach(async () => {
  target = await Target.open(photo);
});

/** What is linear goes over a body a few dozen times at most; what is not has millions of times to go. */
const mostForBody = () => atMost(4_000, 100);
/** A header is short: only what tries every way to read it comes near to this. */
const mostForHeaders = () => atMost(500, 10);

const many = (each: string, before: string, after: string): string => {
  const times = Math.floor((largestBody - before.length - after.length) / (each.length + 1));
  return `${before}${Array.from({ length: times }, () => each).join(',')}${after}`;
};

const unknownMembers = (before: string): string => {
  const members: string[] = [];
  for (let length = before.length; length < largestBody - 20;) {
    const member = `"\\u0001${members.length}":1`;
    members.push(member);
    length += member.length + 1;
  }
  return `${before}${members.join(',')}}`;
};

const bodies: readonly (readonly [string, string])[] = [
  ['a list of numbers where names belong', many('1', '{"user":"ann","expiresInSeconds":600,"features":[', ']}')],
  ['a list of lists', many('[]', '{"user":"ann","expiresInSeconds":600,"features":[', ']}')],
  ['members without end', unknownMembers('{"feature":"upscale",')],
  ['parameters without end', unknownMembers('{"feature":"upscale","params":{').concat('}')],
  ['one endless name', `{"user":"ann","expiresInSeconds":600,"features":["${'x'.repeat(largestBody - 100)}"]}`],
  ['one endless member', `{"${'x'.repeat(largestBody - 100)}":1}`],
  ['one endless number', `{"bytes":${'9'.repeat(largestBody - 100)}}`],
  ['brackets without end', '['.repeat(largestBody)],
  ['braces without end', '{"a":'.repeat(largestBody / 5)],
  ['levels without end', `{"feature":"upscale","metadata":{"a":${'['.repeat(2_900_000)}1${']'.repeat(2_900_000)}}}`],
  ['quotes without end', String.raw`"\"`.repeat(largestBody / 3)],
  ['spaces without end', ' '.repeat(largestBody)],
  ['zeros', '\0'.repeat(largestBody)],
];

const routes = ['POST /api/v1/jobs', 'POST /api/v1/client-tokens'] as const;
const key = ['X-API-Key', 'sl_test_server-of-acme'] as const;

describe.each(routes)('%s', (routeKey) => {
  it.each(bodies)('refuses %s, in time and in short', async (_, body) => {
    const headers = [key, ['Content-Type', 'application/json'], ['Idempotency-Key', 'big']] as const;
    const event = eventOf({ routeKey, headers, body }, true);
    const { result: answer, cpuMs } = await cpuMsOf(() => target.send(event));
    expect(wrongWithAnswer(answer)).toEqual([]);
    expect(answer.status).toBe(400);
    expect(cpuMs).toBeLessThan(await mostForBody());
  });
});

it('a body that were read in quadratic time would be told', async () => {
  const scale = 500;
  const spaces = ' '.repeat(largestBody / scale);
  // From each space to the last one, as an unanchored expression goes.
  const { cpuMs } = await cpuMsOf(() => / +x/.test(spaces));
  expect(cpuMs * scale ** 2).toBeGreaterThan(await mostForBody());
});

it('parameters that are all wrong are listed in part', async () => {
  const params = JSON.stringify(Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`wrong${at}`, at])));
  const body = `{"feature":"upscale","params":${params},"inputs":{"image":{"uploadId":"upl_acme_-"}}}`;
  const headers = [key, ['Content-Type', 'application/json'], ['Idempotency-Key', 'wrong']] as const;
  const answer = await target.send(eventOf({ routeKey: 'POST /api/v1/jobs', headers, body }, true));
  expect(JSON.parse(answer.text ?? '')).toMatchObject({ code: 'parameters_invalid', status: 422 });
  expect(answer.text?.length).toBeLessThan(1_000);
});

describe('headers', () => {
  const long = 'x'.repeat(10_000);
  it.each([
    ['Authorization', `Bearer ${' '.repeat(10_000)}`],
    ['Authorization', `Bearer ${long}.${long}.${long}`],
    ['Authorization', `Bearer ${'.'.repeat(10_000)}`],
    ['Idempotency-Key', `"${String.raw`\"`.repeat(5_000)}`],
    ['Idempotency-Key', `"${'\\'.repeat(9_999)}"`],
    ['Content-Type', `multipart/form-data;${' '.repeat(10_000)}boundary=x`],
    ['Content-Type', `multipart/form-data; boundary=${';boundary='.repeat(1_000)}`],
    ['Slowlane-User', long],
    ['X-API-Key', long],
  ])('%s that is made to be slow is refused at once', async (name, value) => {
    const headers = [...(name === 'Authorization' || name === 'X-API-Key' ? [] : [key]), [name, value]] as const;
    const event = eventOf({ routeKey: 'POST /api/v1/jobs', headers, body: 'x' }, false);
    const { result: answer, cpuMs } = await cpuMsOf(() => target.send(event));
    expect(wrongWithAnswer(answer)).toEqual([]);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(cpuMs).toBeLessThan(await mostForHeaders());
  });
});

describe('ids that the store could not even be asked for', () => {
  const server = [key];
  const operator = [['X-API-Key', 'sl_test_operator-of-acme'] as const];
  const json = ['Content-Type', 'application/json'] as const;
  const order = JSON.stringify({ reason: 'x', generation: 1, vendorJobId: 'v', notRunning: true });
  const routesById = [
    ['GET /api/v1/jobs/{id}', server, undefined],
    ['GET /api/v1/jobs/{id}/result', server, undefined],
    ['POST /api/v1/jobs/{id}/cancel', server, undefined],
    ['DELETE /api/v1/jobs/{id}', server, undefined],
    ['GET /api/v1/operator/jobs/{id}', operator, undefined],
    ['POST /api/v1/operator/jobs/{id}/fail', operator, JSON.stringify({ reason: 'x', generation: 1 })],
    [
      'POST /api/v1/operator/jobs/{id}/adopt',
      operator,
      JSON.stringify({ ...JSON.parse(order), notRunning: undefined }),
    ],
    [
      'POST /api/v1/operator/jobs/{id}/resend',
      operator,
      JSON.stringify({ reason: 'x', generation: 1, notRunning: true }),
    ],
  ] as const;
  const ids = ['', 'x'.repeat(3_000), 'é'.repeat(1_100), '\ud800', 'job a', 'job\0a'];

  it.each(routesById.flatMap((route) => ids.map((id) => [...route, id] as const)))(
    '%s answers 404 and asks nobody',
    async (routeKey, headers, body, id) => {
      const sent = { routeKey, headers: [...headers, json], path: { id }, ...(body === undefined ? {} : { body }) };
      const answer = await target.send(eventOf(sent, true));
      expect([answer.status, wrongWithAnswer(answer)]).toEqual([404, []]);
    },
  );
});

it.each(['.', '..', 'a b', 'é', 'x'.repeat(201)])('no vendor is asked for a job called %j', async (vendorJobId) => {
  const headers = [['X-API-Key', 'sl_test_operator-of-acme'] as const, ['Content-Type', 'application/json'] as const];
  const { id = '' } =
    target.jobs.all().find(({ owner, state }) => owner === 'acme/ann' && state === 'needs_attention') ?? {};
  const body = JSON.stringify({ reason: 'x', generation: 1, vendorJobId });
  const answer = await target.send(
    eventOf({ routeKey: 'POST /api/v1/operator/jobs/{id}/adopt', headers, path: { id }, body }, true),
  );
  expect([answer.status, wrongWithAnswer(answer)]).toEqual([400, []]);
});

it.each(['', '\ud800', '../upl_acme_ann', 'upl_acme_ann\0', 'é', 'x'.repeat(65)])(
  'no upload called %j is looked for',
  async (uploadId) => {
    const headers = [key, ['Content-Type', 'application/json'], ['Idempotency-Key', 'upload']] as const;
    const body = JSON.stringify({ feature: 'upscale', inputs: { image: { uploadId } } });
    const answer = await target.send(eventOf({ routeKey: 'POST /api/v1/jobs', headers, body }, true));
    expect([answer.status, wrongWithAnswer(answer)]).toEqual([400, []]);
  },
);
