import { expect, it } from 'vitest';
import { preflightHeaders, withCors, type Cors } from '../../../local/runtime/cors.ts';
import { buildHttpEvent, isText, readHttpResult } from '../../../local/runtime/http-event.ts';
import { RouteTable } from '../../../local/runtime/http-routes.ts';

const around = {
  apiId: 'api1',
  accountId: '000000000000',
  stage: '$default',
  requestId: '8f8a0000-0000-4000-8000-000000000000',
  nowMs: Date.UTC(2026, 10, 30, 23, 5, 1),
  forwardedProtocol: 'http',
};
const route = { routeKey: 'POST /jobs/{id}', pathParameters: { id: 'a b' } };

const eventOf = (target: string, headers: Record<string, string>, body: string | Buffer = '') =>
  buildHttpEvent(
    { method: 'POST', target, headers, body: Buffer.from(body), sourceIp: '10.0.0.9', protocol: 'HTTP/1.1' },
    route,
    around,
  );

it('builds the version 2.0 event field by field', () => {
  const event = eventOf(
    '/jobs/a%20b?x=1&x=2&y=%2F',
    { host: 'api.test:4100', cookie: 'one=1; two=2', 'content-type': 'application/json', 'user-agent': 'phone' },
    '{"a":1}',
  );
  expect(event).toMatchObject({
    version: '2.0',
    routeKey: 'POST /jobs/{id}',
    rawPath: '/jobs/a b',
    rawQueryString: 'x=1&x=2&y=%2F',
    cookies: ['one=1', 'two=2'],
    queryStringParameters: { x: '1,2', y: '/' },
    pathParameters: { id: 'a b' },
    body: '{"a":1}',
    isBase64Encoded: false,
    requestContext: {
      http: { method: 'POST', path: '/jobs/a b', protocol: 'HTTP/1.1', sourceIp: '10.0.0.9', userAgent: 'phone' },
      stage: '$default',
      time: '30/Nov/2026:23:05:01 +0000',
      timeEpoch: around.nowMs,
    },
  });
  expect(event.headers).not.toHaveProperty('cookie');
  expect(event.headers['x-forwarded-for']).toBe('10.0.0.9');
});

it('sends no member for what a request has not', () => {
  const event = eventOf('/jobs/1', { host: 'api.test' });
  expect(Object.keys(event)).not.toEqual(expect.arrayContaining(['body']));
  expect(event).not.toHaveProperty('queryStringParameters');
  expect(event).not.toHaveProperty('cookies');
});

it.each([
  ['application/json', true],
  ['application/problem+json; charset=utf-8', true],
  ['text/csv', true],
  ['application/xml', true],
  ['image/svg+xml', true],
  ['application/javascript', true],
  ['multipart/form-data; boundary=x', false],
  ['application/x-www-form-urlencoded', false],
  ['image/png', false],
  [undefined, false],
])('takes a body of type %s for text: %s', (contentType, text) => {
  expect(isText(contentType)).toBe(text);
});

it('sends a multipart body as base64, byte for byte', () => {
  const body = Buffer.from([0, 255, 13, 10, 128]);
  const event = eventOf('/jobs/1', { host: 'api.test', 'content-type': 'multipart/form-data; boundary=x' }, body);
  expect(event.isBase64Encoded).toBe(true);
  expect(Buffer.from(event.body ?? '', 'base64')).toEqual(body);
});

it('reads a structured result, a bare one, and refuses a malformed one', () => {
  const binary = readHttpResult({
    statusCode: 200,
    headers: { 'Content-Type': 'image/png' },
    body: 'AP8=',
    isBase64Encoded: true,
  });
  expect(binary).toMatchObject({ status: 200, headers: { 'content-type': 'image/png' } });
  expect(binary?.body).toEqual(Buffer.from([0, 255]));
  expect(readHttpResult({ ok: true })).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  expect(readHttpResult({ statusCode: 204 })).toMatchObject({ status: 204, cookies: [] });
  expect(readHttpResult({ statusCode: 'many' })).toBeUndefined();
});

it('finds a literal route before a variable, a variable before a greedy one, a method before ANY', () => {
  const keys = [
    '$default',
    'ANY /jobs/{id}',
    'GET /jobs/{id}',
    'GET /jobs/by-key',
    'GET /{rest+}',
    'GET /jobs/{id}/result',
  ];
  const table = new RouteTable(keys.map((key) => [key, key] as const));
  expect(table.find('GET', '/jobs/by-key')?.target).toBe('GET /jobs/by-key');
  expect(table.find('GET', '/jobs/7')).toMatchObject({ target: 'GET /jobs/{id}', pathParameters: { id: '7' } });
  expect(table.find('PUT', '/jobs/7')?.target).toBe('ANY /jobs/{id}');
  expect(table.find('GET', '/jobs/7/result')?.target).toBe('GET /jobs/{id}/result');
  expect(table.find('GET', '/a/b%20c')).toMatchObject({ target: 'GET /{rest+}', pathParameters: { rest: 'a/b c' } });
  expect(table.find('PUT', '/other')?.target).toBe('$default');
  expect(new RouteTable([['GET /a', 1]]).find('GET', '/a/')).toBeUndefined();
});

it('answers CORS for the origins of the template only, in place of what a function says', () => {
  const cors: Cors = {
    AllowOrigins: ['https://app.example', 'http://*'],
    AllowMethods: ['GET', 'POST'],
    AllowHeaders: ['Idempotency-Key'],
    ExposeHeaders: ['Location'],
    MaxAge: 600,
    AllowCredentials: false,
  };
  expect(preflightHeaders(cors, 'https://app.example')).toMatchObject({
    'access-control-allow-origin': 'https://app.example',
    'access-control-allow-methods': 'GET,POST',
    'access-control-allow-headers': 'idempotency-key',
    'access-control-max-age': '600',
  });
  expect(preflightHeaders(cors, 'https://evil.example')).toEqual({});
  const own = { 'access-control-allow-origin': 'mine', location: '/x' };
  expect(withCors(cors, 'http://any.example', own)).toMatchObject({
    'access-control-allow-origin': 'http://any.example',
  });
  expect(withCors(cors, 'https://evil.example', own)).toEqual({ location: '/x' });
  expect(withCors({ ...cors, AllowOrigins: ['*'] }, 'https://x', {})['access-control-allow-origin']).toBe('*');
});
