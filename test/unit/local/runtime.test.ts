import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startLocal, type LocalEnvironment } from '../../../local/start-local.ts';
import type { InvocationOutcome } from '../../../local/runtime/functions.ts';

const assemblyFolder = path.resolve(import.meta.dirname, '../../fixtures/local-assembly');
let dataDir: string;
let local: LocalEnvironment;

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'slowlane-local-'));
  local = await startLocal({ dataDir, assemblyFolder, quiet: true });
});
afterAll(async () => {
  await local.stop();
  await rm(dataDir, { recursive: true });
});

async function invoke(name: string, event: unknown): Promise<InvocationOutcome> {
  const response = await fetch(`${local.url}/_local/invoke/${name}`, { method: 'POST', body: JSON.stringify(event) });
  return (await response.json()) as InvocationOutcome;
}

async function resultOf<T>(name: string, event: unknown): Promise<T> {
  const outcome = await invoke(name, event);
  if (outcome.kind !== 'answered') throw new Error(`${name}: ${JSON.stringify(outcome)}`);
  return outcome.payload as T;
}

interface AwsAnswer {
  status: number;
  body: Record<string, unknown>;
}

const callAws = (service: string, target: string, body: object, as = 'call-aws') =>
  resultOf<AwsAnswer>(as, { service, target, body });

const tableName = 'Table';

async function readItem(pk: string, sk: string): Promise<Record<string, Record<string, string>> | undefined> {
  const { body } = await callAws('dynamodb', 'DynamoDB_20120810.GetItem', {
    TableName: tableName,
    Key: { pk: { S: pk }, sk: { S: sk } },
  });
  return body['Item'] as Record<string, Record<string, string>> | undefined;
}

async function eventually<T>(read: () => Promise<T | undefined>, withinMs = 20_000): Promise<T> {
  const deadlineMs = Date.now() + withinMs;
  for (;;) {
    const value = await read();
    if (value !== undefined) return value;
    if (Date.now() > deadlineMs) throw new Error(`Not within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('HTTP', () => {
  it('serves the routes of the template and no others', async () => {
    const answer = await fetch(`${local.url}/act/event?x=1`);
    expect(await answer.json()).toMatchObject({ routeKey: 'GET /act/{action}', pathParameters: { action: 'event' } });
    expect(await (await fetch(`${local.url}/act/literal?ms=0`)).json()).toMatchObject({ seen: 1 });
    const missing = await fetch(`${local.url}/other`);
    expect([missing.status, await missing.json()]).toEqual([404, { message: 'Not Found' }]);
    expect((await fetch(`${local.url}/act/event`, { method: 'DELETE' })).status).toBe(404);
  });

  it('passes a binary body on byte for byte, and a binary answer back', async () => {
    const form = new FormData();
    form.set('image', new Blob([new Uint8Array([0, 255, 1, 254])]), 'a.png');
    const echoed = (await (await fetch(`${local.url}/act/event`, { method: 'POST', body: form })).json()) as {
      body: string;
      isBase64Encoded: boolean;
    };
    expect(echoed.isBase64Encoded).toBe(true);
    expect(Buffer.from(echoed.body, 'base64').includes(Buffer.from([0, 255, 1, 254]))).toBe(true);
    const picture = await fetch(`${local.url}/act/binary`);
    expect(Buffer.from(await picture.arrayBuffer())).toEqual(Buffer.from('iVBORw==', 'base64'));
  });

  it('gives cookies and headers back, with CORS of the template over that of the function', async () => {
    const answer = await fetch(`${local.url}/act/cookies`, { headers: { origin: 'https://app.example' } });
    expect([answer.status, answer.headers.getSetCookie(), answer.headers.get('location')]).toEqual([
      201,
      ['a=1', 'b=2'],
      '/there',
    ]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://app.example');
    const preflight = await fetch(`${local.url}/act/event`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'GET,POST']);
  });

  it.each([
    ['throw', 500],
    ['malformed', 500],
    ['exit', 500],
    ['large', 500],
    ['hang', 500],
  ])('answers a function that would %s with %i', async (action, status) => {
    expect((await fetch(`${local.url}/act/${action}`)).status).toBe(status);
  });

  it('gives up on a late function with 503, by the integration of the template', async () => {
    const answer = await fetch(`${local.url}/late?ms=1500`);
    expect([answer.status, await answer.json()]).toEqual([503, { message: 'Service Unavailable' }]);
  });

  it('keeps the limits of an HTTP API', async () => {
    const post = (bytes: number, headers: Record<string, string> = {}) =>
      fetch(`${local.url}/act/none`, {
        method: 'POST',
        body: Buffer.alloc(bytes, 65),
        headers: { 'content-type': 'text/plain', ...headers },
      });
    expect((await post(4 * 1024 * 1024)).status).toBe(200);
    expect((await post(7 * 1024 * 1024)).status).toBe(413);
    expect((await post(10 * 1024 * 1024 + 1)).status).toBe(413);
    expect((await post(1, { 'x-filler': 'x'.repeat(10_240) })).status).toBe(431);
  });
});

describe('functions', () => {
  it('have the environment of the template, its URLs leading here', async () => {
    const variables = await resultOf<Record<string, string>>('probe', { action: 'environment' });
    expect(variables).toMatchObject({
      TABLE_NAME: tableName,
      BUCKET_NAME: 'pictures',
      PUBLIC_URL: local.url,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'probe',
      AWS_LAMBDA_FUNCTION_NAME: 'probe',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '128',
    });
    expect(variables['SOCKET_MANAGEMENT_URL']).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/live$/);
    expect(variables).not.toHaveProperty('HOME');
    expect(variables).not.toHaveProperty('LANE');
  });

  it('run one invocation per environment at a time, and are used again', async () => {
    const runs = await Promise.all(
      [1, 2, 3].map(() => resultOf<{ environmentId: string; seen: number }>('slow', { ms: 1_000 })),
    );
    expect(runs.map((run) => run.seen)).toEqual([1, 1, 1]);
    expect(new Set(runs.map((run) => run.environmentId)).size).toBe(3);
    const again = await resultOf<{ environmentId: string }>('slow', { ms: 0 });
    expect(runs.map((run) => run.environmentId)).toContain(again.environmentId);
  });

  it('are throttled above their reserved concurrency', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => fetch(`${local.url}/reserved?ms=300`)));
    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 200, 429]);
  });

  it('die of their timeout and of a kill, and start anew', async () => {
    expect(await invoke('probe', { action: 'hang' })).toMatchObject({
      kind: 'failed',
      error: { errorType: 'Sandbox.Timedout' },
    });
    const running = invoke('slow', { ms: 60_000 });
    const killed = await eventually(async () => ((await local.killFunction('slow')) > 0 ? true : undefined));
    expect(killed).toBe(true);
    expect(await running).toMatchObject({ kind: 'failed', error: { errorType: 'Runtime.ExitError' } });
    expect(await resultOf('slow', { ms: 0 })).toMatchObject({ seen: 1 });
  });
});

describe('grants', () => {
  const message = { QueueUrl: 'http://sqs/000000000000/Queue', MessageBody: '{"id":"granted"}' };

  it('allow what the role of a function names', async () => {
    expect((await callAws('sqs', 'AmazonSQS.SendMessage', message)).status).toBe(200);
    const put = { TableName: tableName, Item: { pk: { S: 'x' }, sk: { S: 'y' }, lane: { S: 'l' }, rank: { N: '1' } } };
    expect((await callAws('dynamodb', 'DynamoDB_20120810.PutItem', put)).status).toBe(200);
    const query = {
      TableName: tableName,
      IndexName: 'queued',
      KeyConditionExpression: 'lane = :l',
      ExpressionAttributeValues: { ':l': { S: 'l' } },
    };
    expect((await callAws('dynamodb', 'DynamoDB_20120810.Query', query)).body).toMatchObject({ Count: 1 });
  });

  it('refuse what it does not, in the words of each service', async () => {
    expect(await callAws('dynamodb', 'DynamoDB_20120810.DeleteItem', { TableName: tableName, Key: {} })).toMatchObject({
      status: 400,
      body: { __type: expect.stringContaining('AccessDeniedException') },
    });
    expect((await callAws('sqs', 'AmazonSQS.PurgeQueue', message)).status).toBe(403);
    expect((await callAws('sqs', 'AmazonSQS.SendMessage', message, 'stranger')).status).toBe(403);
  });

  it('hold for secrets, events and pictures', async () => {
    const secretId = { SecretId: 'Secret' };
    const secret = await callAws('secretsmanager', 'secretsmanager.GetSecretValue', secretId);
    expect(JSON.parse(String(secret.body['SecretString']))['current']).toMatch(/^[A-Za-z0-9]{40}$/);
    expect((await callAws('secretsmanager', 'secretsmanager.GetSecretValue', secretId, 'stranger')).status).toBe(400);
    const put = (key: string, secret?: string) =>
      resultOf<{ status: number }>('put-object', { bucket: 'pictures', key, content: 'x', secret });
    expect((await put('inputs/a')).status).toBe(200);
    expect((await put('results/a')).status).toBe(403);
    expect((await put('inputs/a', 'forged')).status).toBe(403);
  });

  it('are counted by function and operation', async () => {
    await fetch(`${local.url}/_local/calls`, { method: 'DELETE' });
    await readItem('x', 'y');
    const calls = (await (await fetch(`${local.url}/_local/calls`)).json()) as Record<string, unknown>;
    expect(calls['call-aws']).toEqual({ 'dynamodb.GetItem': 1 });
  });
});

describe('queues', () => {
  const send = (body: object) =>
    callAws('sqs', 'AmazonSQS.SendMessage', {
      QueueUrl: 'http://sqs/000000000000/Queue',
      MessageBody: JSON.stringify(body),
    });

  it('deliver each message to the function of the mapping', async () => {
    await send({ id: 'delivered' });
    const item = await eventually(() => readItem('delivered', 'seen'));
    expect(item).toMatchObject({ times: { N: '1' }, receives: { S: '1' } });
  });

  it('bring a failed message back after its visibility timeout, and to the dead-letter queue after its last receive', async () => {
    await send({ id: 'poison', fail: true });
    const depth = await eventually(async () => {
      const depths = (await (await fetch(`${local.url}/_local/queues`)).json()) as Record<string, { ready: number }>;
      return depths['Dead']?.ready === 1 ? depths : undefined;
    });
    expect(depth['Queue']).toEqual({ ready: 0, inFlight: 0, delayed: 0 });
    expect(await readItem('poison', 'seen')).toMatchObject({ times: { N: '2' } });
  });
});

describe('sockets', () => {
  const open = async (query: string): Promise<WebSocket> => {
    const socket = new WebSocket(`${local.socketUrl}?${query}`);
    await once(socket, 'open');
    return socket;
  };
  const refusalOf = async (query: string): Promise<number | undefined> => {
    const socket = new WebSocket(`${local.socketUrl}${query}`);
    socket.on('error', () => undefined);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode?: number }];
    return response.statusCode;
  };
  const ask = async (socket: WebSocket, message: unknown): Promise<unknown> => {
    const answered = once(socket, 'message');
    socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    const [data] = (await answered) as [Buffer];
    return data.toString().startsWith('{') ? JSON.parse(data.toString()) : data.toString();
  };

  it.each([
    ['', 401],
    ['?ticket=bad', 403],
    ['?ticket=broken', 500],
    ['?ticket=good&full=1', 429],
  ])('are refused before the upgrade: %s with %i', async (query, status) => {
    expect(await refusalOf(query)).toBe(status);
  });

  it('route by the member of the template, with the context of the authorizer', async () => {
    const socket = await open('ticket=good');
    expect(await ask(socket, { action: 'echo', text: 'hi' })).toMatchObject({
      text: 'hi',
      owner: 'tenant/user',
      postInConnect: { status: 410, type: 'GoneException' },
    });
    expect(await ask(socket, { action: 'unheard of' })).toMatchObject({ default: expect.stringContaining('unheard') });
    expect(await ask(socket, 'no json')).toMatchObject({ default: 'no json' });
    expect(await ask(socket, { action: 'fail' })).toMatchObject({
      message: 'Internal server error',
      connectionId: expect.stringMatching(/=$/),
    });
    expect(await ask(socket, { action: 'ask' })).toBe('answered');
    socket.close();
  });

  it('keep the order of messages of one connection', async () => {
    const socket = await open('ticket=good');
    const texts: string[] = [];
    socket.on('message', (data: Buffer) => texts.push((JSON.parse(data.toString()) as { text: string }).text));
    for (const text of ['1', '2', '3', '4', '5']) socket.send(JSON.stringify({ action: 'echo', text }));
    await eventually(async () => (texts.length === 5 ? true : undefined));
    expect(texts).toEqual(['1', '2', '3', '4', '5']);
    socket.close();
  });

  it('are managed while they are open, and gone afterwards', async () => {
    const socket = await open('ticket=good');
    const { connectionId } = (await ask(socket, { action: 'fail' })) as { connectionId: string };
    const manage = (method: string, text?: string) =>
      resultOf<{ status: number; type: string | null; body: string }>('management', { connectionId, method, text });
    expect(JSON.parse((await manage('GET')).body)).toMatchObject({ identity: { sourceIp: '127.0.0.1' } });
    const heard = once(socket, 'message');
    expect((await manage('POST', 'from outside')).status).toBe(200);
    expect(String((await heard)[0])).toBe('from outside');
    expect((await manage('POST', 'x'.repeat(128 * 1024 + 1))).status).toBe(413);
    const closed = once(socket, 'close');
    expect((await manage('DELETE')).status).toBe(204);
    expect((await closed)[0]).toBe(1001);
    expect(await eventually(() => readItem(connectionId, 'gone'))).toMatchObject({ code: { N: expect.any(String) } });
    expect(await manage('POST', 'late')).toMatchObject({ status: 410, type: 'GoneException' });
  });

  it.each([
    ['a frame over 32 KB', 33 * 1024],
    ['a message over 128 KB', 129 * 1024],
  ])('are closed with 1009 for %s', async (_, bytes) => {
    const socket = await open('ticket=good');
    const closed = once(socket, 'close');
    socket.send('x'.repeat(bytes));
    expect((await closed)[0]).toBe(1009);
  });
});

describe('a restart', () => {
  it('finds tables, pictures and secrets again', async () => {
    const secretOf = async () =>
      (await callAws('secretsmanager', 'secretsmanager.GetSecretValue', { SecretId: 'Secret' })).body['SecretString'];
    const secret = await secretOf();
    await local.stop();
    local = await startLocal({ dataDir, assemblyFolder, quiet: true });
    expect(await readItem('delivered', 'seen')).toMatchObject({ times: { N: '1' } });
    expect(await secretOf()).toBe(secret);
  });
});
