import { createHash, createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { awsEndpoint, customEndpoint, signedFetch } from '../../../lambdas/runtime/signed-fetch.ts';
import { ScriptedAwsServer, type AwsCall } from '../../fakes/scripted-aws-server.ts';

const variables = {
  AWS_REGION: 'eu-west-1',
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  AWS_SESSION_TOKEN: 'session-token',
};

let aws: ScriptedAwsServer;
let endpoint: string;
beforeEach(async () => {
  aws = new ScriptedAwsServer();
  endpoint = await aws.start();
});
afterEach(() => aws.stop());

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Signature Version 4 written from AWS's description of it, over what came over the wire. */
function expectedSignature(call: AwsCall, service: string): string {
  const authorization = String(call.headers['authorization']);
  const names = (/SignedHeaders=([^,]+)/.exec(authorization)?.[1] ?? '').split(';');
  const date = String(call.headers['x-amz-date']);
  const [path = '', query = ''] = call.url.split('?');
  const canonical = [
    call.method,
    path,
    query.split('&').toSorted().join('&'),
    ...names.map((name) => `${name}:${String(call.headers[name])}`),
    '',
    names.join(';'),
    sha256(call.body),
  ].join('\n');
  const scope = `${date.slice(0, 8)}/eu-west-1/${service}/aws4_request`;
  const secret = `AWS4${variables.AWS_SECRET_ACCESS_KEY}`;
  const key = scope.split('/').reduce<string | Buffer>(hmac, secret);
  return hmac(key, ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')).toString('hex');
}

describe('a signed call', () => {
  it.each(['s3', 'secretsmanager', 'events'] as const)('bears a signature that %s will find right', async (service) => {
    const { status, body } = await signedFetch(
      service,
      {
        method: 'POST',
        url: new URL(`${endpoint}/a%20key/b?list-type=2&prefix=inputs%2Fx`),
        headers: { 'content-type': 'application/json' },
        body: '{"a":"ü"}',
      },
      variables,
    );
    expect([status, body.toString()]).toEqual([200, '{}']);
    const [call] = aws.calls;
    expect(call?.body).toBe('{"a":"ü"}');
    expect(call?.headers['x-amz-security-token']).toBe('session-token');
    // Services other than S3 sign a path that is encoded once more.
    const signed = service === 's3' ? call : call && { ...call, url: call.url.replace('%20', '%2520') };
    expect(String(call?.headers['authorization'])).toContain(
      `Signature=${signed && expectedSignature(signed, service)}`,
    );
  });

  it('sends bytes as they are', async () => {
    const body = new Uint8Array([1, 2, 3, 4]).subarray(1, 3);
    await signedFetch('s3', { method: 'PUT', url: new URL(`${endpoint}/k`), body }, variables);
    expect(aws.calls[0]?.body).toBe('\u0002\u0003');
    expect(aws.calls[0]?.headers['x-amz-content-sha256']).toBe(sha256('\u0002\u0003'));
  });

  it('gives an error status back as an answer, and is sent once', async () => {
    aws.answer = () => ({ status: 503, body: 'slow down' });
    const answer = await signedFetch('s3', { method: 'GET', url: new URL(endpoint) }, variables);
    expect([answer.status, answer.body.toString()]).toEqual([503, 'slow down']);
    expect(aws.calls).toHaveLength(1);
  });

  it('gives up on silence', async () => {
    aws.answer = () => 'silence';
    const call = signedFetch('s3', { method: 'GET', url: new URL(endpoint), timeoutMs: 50 }, variables);
    await expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('says which variable is missing', async () => {
    const { AWS_SECRET_ACCESS_KEY: _, ...incomplete } = variables;
    const call = signedFetch('s3', { method: 'GET', url: new URL(endpoint) }, incomplete);
    await expect(call).rejects.toThrow('AWS_SECRET_ACCESS_KEY is not set');
    expect(aws.calls).toHaveLength(0);
  });
});

it('goes where AWS says, unless the environment says otherwise', () => {
  expect(awsEndpoint('secretsmanager', variables)).toBe('https://secretsmanager.eu-west-1.amazonaws.com');
  expect(awsEndpoint('events', { ...variables, AWS_ENDPOINT_URL_EVENTBRIDGE: 'http://127.0.0.1:1/' })).toBe(
    'http://127.0.0.1:1',
  );
  const both = { AWS_ENDPOINT_URL: 'http://all', AWS_ENDPOINT_URL_S3: 'http://s3' };
  expect(customEndpoint('s3', both)).toBe('http://s3');
  expect(customEndpoint('secretsmanager', both)).toBe('http://all');
  expect(customEndpoint('s3', variables)).toBeUndefined();
});
