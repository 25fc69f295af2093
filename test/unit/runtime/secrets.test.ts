import { afterEach, beforeEach, expect, it } from 'vitest';
import { createSecret, signingSecret, vendorSecret } from '../../../lambdas/runtime/secrets.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { ScriptedAwsServer } from '../../fakes/scripted-aws-server.ts';

const ARN = 'arn:aws:secretsmanager:eu-west-1:1:secret:studio';

let aws: ScriptedAwsServer;
let clock: ManualClock;
let variables: Record<string, string>;
beforeEach(async () => {
  aws = new ScriptedAwsServer();
  clock = new ManualClock();
  variables = {
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_ENDPOINT_URL_SECRETS_MANAGER: await aws.start(),
  };
});
afterEach(() => aws.stop());

const store = (value: string) => {
  aws.answer = () => ({ status: 200, body: JSON.stringify({ ARN, SecretString: value }) });
};
const open = () => createSecret(ARN, vendorSecret, { clock, variables });

it('asks Secrets Manager by name, once in five minutes', async () => {
  store('{"apiKey":"k1","webhookSecret":"w1"}');
  const secret = open();
  const [first] = await Promise.all([secret.read(), secret.read()]);
  expect(first).toEqual({ apiKey: 'k1', webhookSecret: 'w1' });
  expect(aws.calls).toHaveLength(1);
  expect(aws.calls[0]?.headers['x-amz-target']).toBe('secretsmanager.GetSecretValue');
  expect(JSON.parse(aws.calls[0]?.body ?? '')).toEqual({ SecretId: ARN });

  store('{"apiKey":"k2"}');
  await clock.advance(5 * 60_000 - 1);
  expect(await secret.read()).toEqual({ apiKey: 'k1', webhookSecret: 'w1' });
  await clock.advance(1);
  expect(await secret.read()).toEqual({ apiKey: 'k2' });
});

it('reads a rotated secret at once when told to, and not again for some seconds', async () => {
  store('{"apiKey":"k1"}');
  const secret = open();
  await secret.read();
  store('{"apiKey":"k2"}');
  await clock.advance(10_000);
  expect(await secret.refresh()).toEqual({ apiKey: 'k2' });
  expect(await secret.read()).toEqual({ apiKey: 'k2' });
  store('{"apiKey":"k3"}');
  await clock.advance(9_999);
  expect(await secret.refresh()).toEqual({ apiKey: 'k2' });
  expect(aws.calls).toHaveLength(2);
});

it('reads one that was read a moment ago again, where whoever refused it can be believed', async () => {
  store('{"apiKey":"k1"}');
  const secret = open();
  await secret.read();
  store('{"apiKey":"k2"}');
  expect(await secret.refresh()).toEqual({ apiKey: 'k1' });
  expect(await secret.refresh(0)).toEqual({ apiKey: 'k2' });
  expect(await secret.read()).toEqual({ apiKey: 'k2' });
});

it('tries twice, and works on with what it remembers', async () => {
  store('{"apiKey":"k1"}');
  const secret = open();
  await secret.read();
  await clock.advance(5 * 60_000);
  aws.answer = () => ({ status: 500, body: '' });
  expect(await secret.read()).toEqual({ apiKey: 'k1' });
  expect(aws.calls).toHaveLength(3);
  await expect(secret.refresh()).rejects.toThrow(`The secret ${ARN} could not be read`);
});

it.each(['{"apiKey":"private-value', '{"apiKey":["private-value"]}', '"private-value"'])(
  'says that %j is not what it should be, without repeating it',
  async (value) => {
    store(value);
    const failure: unknown = await open()
      .read()
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    const { message, cause } = failure as Error;
    expect(`${message} ${String(cause)}`).not.toContain('private');
  },
);

it('refuses a signing secret that can be guessed', async () => {
  store('{"current":"short"}');
  const secret = createSecret(ARN, signingSecret, { clock, variables });
  await expect(secret.read()).rejects.toThrow('could not be read');
  store('{"current":"long-enough-to-sign"}');
  expect(await secret.read()).toEqual({ current: 'long-enough-to-sign' });
});
