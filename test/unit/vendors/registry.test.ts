import { describe, expect, it } from 'vitest';
import { vendorSettings, type DeployedVendor } from '../../../lambdas/runtime/env.ts';
import { createVendors } from '../../../lambdas/vendors/registry.ts';

const studio: DeployedVendor = {
  ...vendorSettings.parse({ adapter: 'jobs-api', baseUrl: 'https://vendor.example', dedupe: 'none' }),
  secretArn: 'arn:studio',
};

const world = {
  clock: { now: () => 0 },
  waiting: { wait: () => Promise.resolve() },
  secretOf: () => ({
    read: () => Promise.resolve({ apiKey: 'k' }),
    refresh: () => Promise.resolve({ apiKey: 'k' }),
  }),
};
const vendorsOf = (over: Partial<DeployedVendor>) => createVendors({ studio: { ...studio, ...over } }, world);

describe('createVendors', () => {
  it('knows its vendors by name, and no others', () => {
    const vendors = vendorsOf({});
    expect(vendors.named('studio')?.name).toBe('studio');
    for (const other of ['fal', '', 'constructor', '__proto__']) expect(vendors.named(other)).toBeUndefined();
  });

  it('fills in the cautious traits', () => {
    expect(vendorsOf({ dedupeMs: 5_000 }).named('studio')?.traits).toEqual({
      dedupe: 'none',
      dedupeMs: 0,
      absence: 'hint',
      listingLagMs: 10_000,
      maxLifeMs: undefined,
      sendTimeoutMs: 30_000,
      maxSends: 40,
      sendWindowMs: 3_600_000,
    });
    expect(vendorsOf({ dedupe: 'replay', dedupeMs: 5_000 }).named('studio')?.traits.dedupeMs).toBe(5_000);
  });

  it.each<[string, Partial<DeployedVendor>]>([
    ['no adapter', { adapter: 'carrier-pigeon' }],
    ['no adapter', { adapter: 'constructor' }],
    ['must be https', { baseUrl: 'http://vendor.example' }],
    ['credentials', { baseUrl: 'https://key@vendor.example' }],
    ['query', { baseUrl: 'https://vendor.example?x=1' }],
    ['needs dedupeMs', { dedupe: 'replay' }],
    ['options: lookupPath: is required by class lookup', { dedupe: 'lookup' }],
    ['options: lookupPath', { options: { lookupPath: '/by-key' } }],
    ['options', { options: { lookupPaht: '/by-key/{key}' } }],
  ])('%s: a deployment that can not work does not start', (message, over) => {
    expect(() => vendorsOf(over)).toThrow(message);
  });

  it.each([{ baseUrl: 'http://127.0.0.1:4190' }, { baseUrl: 'http://studio.internal', privateNetwork: true }])(
    '$baseUrl may be plain http',
    (over) => {
      expect(vendorsOf(over).named('studio')).toBeDefined();
    },
  );
});

describe('a vendor whose secret can not be read', () => {
  const broken = () => Promise.reject(new Error('Secrets Manager is away'));
  const vendors = createVendors({ studio }, { ...world, secretOf: () => ({ read: broken, refresh: broken }) });
  const vendor = vendors.named('studio')!;
  const signal = new AbortController().signal;

  it('sends nothing, and says why', async () => {
    const submission = {
      vendorKey: 'job_a.1',
      feature: 'upscale',
      parameters: {},
      picture: undefined,
      callbackUrl: undefined,
      sendBy: 1,
      signal,
    };
    expect(await vendor.submit(submission)).toMatchObject({ kind: 'not-sent', cause: 'secret_unavailable' });
    expect(await vendor.refreshSecret()).toBe(false);
  });

  it('is unreachable for everything else', async () => {
    expect(await vendor.ask('v1', signal)).toMatchObject({ kind: 'unreachable' });
    expect(await vendor.cancel('v1', signal)).toBe('unreachable');
    const result = { kind: 'url', url: 'https://vendor.example/a.png', contentType: undefined } as const;
    expect(await vendor.fetchResult(result, signal)).toMatchObject({ kind: 'unreachable' });
  });
});

it('a key that HTTP can not carry is a fault of the account, found before anything is sent', async () => {
  const read = () => Promise.resolve({ apiKey: 'sesame\nopen' });
  const vendors = createVendors({ studio }, { ...world, secretOf: () => ({ read, refresh: read }) });
  const submission = {
    vendorKey: 'job_a.1',
    feature: 'upscale',
    parameters: {},
    picture: undefined,
    callbackUrl: undefined,
    sendBy: 1,
    signal: new AbortController().signal,
  };
  const outcome = await vendors.named('studio')?.submit(submission);
  expect(outcome).toMatchObject({ kind: 'account-refused' });
  expect(JSON.stringify(outcome)).not.toContain('sesame');
});
