import { describe, expect, test } from 'vitest';
import { planConcurrency } from '../../lib/concurrency.ts';
import { environmentNamed, environmentNames, parseEnvironment } from '../../lib/environments.ts';
import { environmentSettings } from '../../lib/settings.ts';
import { environmentWith } from './synthesized.ts';

describe('environments', () => {
  test.each(environmentNames)('%s is valid as shipped', (name) => {
    expect(environmentNamed(name).name).toBe(name);
  });

  test('an unknown one is refused with the names of those that exist', () => {
    expect(() => environmentNamed('production')).toThrow(
      'No environment "production": there are local, dev, staging, prod.',
    );
  });

  test('local reaches the embedded vendor where it listens', () => {
    const { vendors } = environmentNamed('local', 'http://127.0.0.1:5001');
    expect(vendors['studio']).toMatchObject({ baseUrl: 'http://127.0.0.1:5001', dedupe: 'replay' });
    expect(vendors['studio-blind']).toMatchObject({ baseUrl: 'http://127.0.0.1:5001/blind', dedupe: 'none' });
  });

  test.each([
    ['a cap above its ceiling', { lanes: { default: { cap: 9, ceiling: 8 } } }, 'dev.lanes.default.cap'],
    [
      'a ceiling that one lane cannot have',
      { lanes: { default: { cap: 9, ceiling: 101 } } },
      'a larger pool is two lanes',
    ],
    ['no lane at all', { lanes: {} }, 'dev.lanes: needs at least one lane'],
    [
      'a feature on an unknown lane',
      { lanes: { fast: { cap: 1, ceiling: 2 } } },
      'dev.features.upscale.lane: "default"',
    ],
    ['a lane whose name no function takes', { lanes: { Fast: { cap: 1, ceiling: 2 } } }, 'dev.lanes.Fast: must be'],
    ['a feature of an unknown vendor', { vendors: {} }, 'dev.features.upscale.vendor: "images" is none of (none)'],
    [
      'a retention that no log group can have',
      { retention: { jobDays: 7, evidenceDays: 60, auditDays: 7, logDays: 8 } },
      'logDays',
    ],
    [
      'evidence that goes before its job is settled',
      { retention: { jobDays: 7, evidenceDays: 36, auditDays: 7, logDays: 7 } },
      'dev.retention.evidenceDays: must be at least jobDays + 30',
    ],
    ['an address that is none', { alarms: { emails: ['on-call'] } }, 'dev.alarms'],
    ['an origin with a path', { corsOrigins: ['https://app.example.com/'] }, 'dev.corsOrigins.0'],
    ['a setting that does not exist', { concurency: 10 }, 'concurency'],
  ])('%s names itself', (_case, changes, named) => {
    expect(() => parseEnvironment('dev', { ...environmentSettings().dev, ...changes })).toThrow(named);
  });

  test.each([
    ['replay without its time', { dedupe: 'replay' }, 'dev.vendors.images.dedupeMs: is required by class replay'],
    [
      'plain http to the internet',
      { baseUrl: 'http://images.example.com' },
      'dev.vendors.images.baseUrl: must be https',
    ],
    [
      'a send that outlives its worker',
      { sendTimeoutMs: 240_001 },
      'dev.vendors.images.sendTimeoutMs: must be at most',
    ],
    [
      'lookup without a place to look',
      { dedupe: 'lookup' },
      'dev.vendors.images.options: lookupPath: is required by class lookup',
    ],
    ['an option misspelled', { options: { lookupPaht: '/jobs?key={key}' } }, 'dev.vendors.images.options: '],
    ['a dedupe class that does not exist', { dedupe: 'maybe' }, 'dev.vendors.images.dedupe'],
  ])('a vendor with %s names itself', (_case, changes, named) => {
    const { vendors } = environmentSettings().dev;
    const settings = { ...environmentSettings().dev, vendors: { images: { ...vendors['images'], ...changes } } };
    expect(() => parseEnvironment('dev', settings)).toThrow(named);
  });

  test("a team's own adapter reads its options itself", () => {
    const { vendors } = environmentSettings().dev;
    const own = { ...vendors['images'], adapter: 'acme', dedupe: 'lookup', options: { model: 'x' } };
    const settings = { ...environmentSettings().dev, vendors: { images: own } };
    expect(parseEnvironment('dev', settings).vendors['images']).toMatchObject({ options: { model: 'x' } });
  });

  test('every wrong setting is named at once', () => {
    const settings = { ...environmentSettings().dev, protectData: 'yes', reconcileEveryMinutes: 0 };
    expect(() => parseEnvironment('dev', settings)).toThrow(/dev\.protectData[^]*dev\.reconcileEveryMinutes/);
  });
});

describe('concurrency', () => {
  test.each([10, 50, 100])('a quota of %d reserves nothing, and says why', (accountConcurrencyQuota) => {
    const plan = planConcurrency(environmentWith({ accountConcurrencyQuota }));
    expect(plan).toMatchObject({
      kind: 'share',
      because: expect.stringContaining(`quota is ${accountConcurrencyQuota}`),
    });
  });

  test('a quota that has room for the ceilings reserves them', () => {
    const lanes = { default: { cap: 2, ceiling: 60 }, slow: { cap: 1, ceiling: 40 } };
    expect(planConcurrency(environmentWith({ accountConcurrencyQuota: 200, lanes }))).toEqual({ kind: 'reserve' });
  });

  test('ceilings that do not fit are refused with the numbers', () => {
    const lanes = { default: { cap: 2, ceiling: 60 }, slow: { cap: 1, ceiling: 41 } };
    expect(() => planConcurrency(environmentWith({ accountConcurrencyQuota: 200, lanes }))).toThrow(
      /staging\.lanes: the ceilings of default, slow take 101 workers, but of the account's quota of 200 only 100/,
    );
  });
});
