import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiGatewayConnections } from '../../../lambdas/progress/connections.ts';
import { ScriptedAwsServer } from '../../fakes/scripted-aws-server.ts';

let server: ScriptedAwsServer;
let connections: ApiGatewayConnections;
beforeEach(async () => {
  vi.stubEnv('AWS_REGION', 'eu-west-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'a-key-id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'a-secret');
  server = new ScriptedAwsServer();
  connections = new ApiGatewayConnections(`${await server.start()}/v1`, 200);
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

it.each([400, 403, 429, 500, 503])('does not take %i for gone, and tries once only', async (status) => {
  answerWith(status, '{"message":"no"}');
  expect(await connections.post('a=', {})).toMatchObject({ kind: 'failed' });
  expect(server.calls).toHaveLength(1);
});

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
