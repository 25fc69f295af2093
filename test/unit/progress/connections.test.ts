import { ApiGatewayManagementApiClient, PostToConnectionCommand } from '@aws-sdk/client-apigatewaymanagementapi';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiGatewayConnections } from '../../../lambdas/progress/connections.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { ScriptedAwsServer } from '../../fakes/scripted-aws-server.ts';

let server: ScriptedAwsServer;
let connections: ApiGatewayConnections;
let clock: ManualClock;
let endpoint: string;
beforeEach(async () => {
  vi.stubEnv('AWS_REGION', 'eu-west-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'a-key-id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'a-secret');
  server = new ScriptedAwsServer();
  clock = new ManualClock();
  endpoint = await server.start();
  connections = new ApiGatewayConnections(`${endpoint}/v1`, { requestTimeoutMs: 200, time: clock });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await server.stop();
});

const answerWith = (status: number, body: string) => {
  server.answer = () => ({ status, body });
};

it('posts the message as JSON to its connection, signed', async () => {
  answerWith(200, '');
  expect(await connections.post('a/b=', { type: 'pong' })).toEqual({ kind: 'posted' });
  expect(server.calls).toMatchObject([{ method: 'POST', url: '/v1/@connections/a%2Fb%3D', body: '{"type":"pong"}' }]);
  expect(server.calls[0]?.headers['authorization']).toContain('/execute-api/');
});

it.each([
  ['with an empty body, which names no exception', ''],
  ['with a body that is none of ours', '<html>Gone</html>'],
  ['as API Gateway words it', '{"message":"","__type":"GoneException"}'],
])('knows that a connection is gone by 410 %s', async (_, body) => {
  answerWith(410, body);
  expect(await connections.post('a=', {})).toEqual({ kind: 'gone' });
  expect(server.calls).toHaveLength(1);
});

it.each([400, 403, 429, 500, 503])(
  'does not take %i for gone, and tries once only what is not insisted on',
  async (status) => {
    answerWith(status, '{"message":"no"}');
    expect(await connections.post('a=', {})).toMatchObject({ kind: 'failed' });
    expect(server.calls).toHaveLength(1);
  },
);

it('gives up on an API that stays silent', async () => {
  server.answer = () => 'silence';
  expect(await connections.post('a=', {})).toMatchObject({ kind: 'failed' });
  expect(server.calls).toHaveLength(1);
});

it('gives up on an API that is not there', async () => {
  await server.stop();
  expect(await connections.post('a=', {})).toMatchObject({ kind: 'failed' });
  await server.start();
});

describe('what is insisted on', () => {
  const insist = () => connections.post('a=', { type: 'pong' }, new AbortController().signal);
  const pausing = () => vi.waitFor(() => expect(clock.sleeping).toBe(1));

  it.each([429, 500, 503])('is posted at the third try after two answers %i, each pause longer', async (status) => {
    const statuses = [status, status, 200];
    server.answer = () => ({ status: statuses.shift() ?? 500, body: '' });
    const posting = insist();
    await pausing();
    await clock.advance(200);
    await pausing();
    await clock.advance(200);
    expect([server.calls.length, clock.sleeping]).toEqual([2, 1]);
    await clock.advance(400);
    expect(await posting).toEqual({ kind: 'posted' });
    expect(server.calls.map(({ body }) => body)).toEqual(Array.from({ length: 3 }, () => '{"type":"pong"}'));
  });

  it('is given up after the third try', async () => {
    answerWith(429, '');
    const posting = insist();
    for (const pause of [200, 600]) {
      await pausing();
      await clock.advance(pause);
    }
    expect(await posting).toMatchObject({ kind: 'failed' });
    expect(server.calls).toHaveLength(3);
  });

  it('is posted again where the answer did not come', async () => {
    server.answer = () => (server.calls.length === 1 ? 'silence' : { status: 200, body: '' });
    const posting = insist();
    await pausing();
    await clock.advance(200);
    expect(await posting).toEqual({ kind: 'posted' });
    expect(server.calls).toHaveLength(2);
  });

  it('is posted again where the connection had died', async () => {
    const api = mockClient(ApiGatewayManagementApiClient);
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    api.on(PostToConnectionCommand).rejectsOnce(reset).resolves({});
    const posting = insist();
    await pausing();
    await clock.advance(200);
    expect(await posting).toEqual({ kind: 'posted' });
    expect(api.commandCalls(PostToConnectionCommand)).toHaveLength(2);
    api.restore();
  });

  it.each([
    [410, 'gone'],
    [400, 'failed'],
    [403, 'failed'],
    [413, 'failed'],
  ])('has one try where the answer is %i', async (status, kind) => {
    answerWith(status, '{"message":"no"}');
    expect(await insist()).toMatchObject({ kind });
    expect(server.calls).toHaveLength(1);
  });

  it('is given up when its caller no longer wants it', async () => {
    answerWith(429, '');
    const caller = new AbortController();
    const posting = connections.post('a=', {}, caller.signal);
    await pausing();
    caller.abort();
    expect(await posting).toMatchObject({ kind: 'failed' });
    expect(server.calls).toHaveLength(1);
  });

  it('is not tried again by a sandbox that was frozen meanwhile', async () => {
    answerWith(429, '');
    const frozen = { now: () => clock.now(), wait: () => clock.advance(60_000) };
    connections = new ApiGatewayConnections(`${endpoint}/v1`, { time: frozen });
    expect(await insist()).toMatchObject({ kind: 'failed' });
    expect(server.calls).toHaveLength(1);
  });
});
