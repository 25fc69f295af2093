import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalJson,
  fingerprintOf,
  isSameRequest,
  jobIdOf,
  jobIdPattern,
  readIdempotencyKey,
} from '../../lambdas/domain/idempotency.ts';
import type { JsonValue } from '../../lambdas/domain/vendor.ts';

const visible = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) });

describe('the idempotency key', () => {
  it('is the same key quoted and bare', () => {
    const keys = visible.filter((key) => key.length >= 1 && key.length <= 255 && !key.startsWith('"'));
    fc.assert(
      fc.property(keys, (key) => {
        const quoted = `"${key.replaceAll(/["\\]/g, '\\$&')}"`;
        expect(readIdempotencyKey(key)).toEqual({ kind: 'key', key });
        expect(readIdempotencyKey(quoted)).toEqual({ kind: 'key', key });
      }),
    );
  });

  it.each([undefined, '', '   '])('is missing as %j', (header) => {
    expect(readIdempotencyKey(header)).toEqual({ kind: 'missing' });
  });

  it.each(['two words', '"', '""', '"open', 'naïve', 'tab\tbed', '"a";p=1', 'x'.repeat(256), `"${'x'.repeat(256)}"`])(
    'is malformed as %j',
    (header) => {
      expect(readIdempotencyKey(header)).toEqual({ kind: 'malformed' });
    },
  );

  it('takes 255 characters', () => {
    expect(readIdempotencyKey('x'.repeat(255)).kind).toBe('key');
  });
});

describe('the job id', () => {
  it('is fixed for ever: a changed derivation would sell every kept key again', () => {
    expect(jobIdOf('acme/ann', 'key-1')).toBe('job_bjuvnwmwgrwrp2l55aihmtmqp75zwpwj2daxekfuojze2o4s2dvq');
  });

  it('differs wherever owner or key differ, and has the shape of an id', () => {
    fc.assert(
      fc.property(fc.tuple(visible, visible), fc.tuple(visible, visible), ([owner, key], [owner2, key2]) => {
        const isSame = owner === owner2 && key === key2;
        expect(jobIdOf(owner, key) === jobIdOf(owner2, key2)).toBe(isSame);
        expect(jobIdOf(owner, key)).toMatch(jobIdPattern);
      }),
    );
  });

  it('does not let an owner reach into the keys of one whose name begins alike', () => {
    expect(jobIdOf('acme/an', 'nkey')).not.toBe(jobIdOf('acme/ann', 'key'));
  });
});

describe('the fingerprint', () => {
  const said = { feature: 'upscale', parameters: { scale: 2 }, consent: undefined };

  it('does not depend on the order in which parameters were written', () => {
    const shuffled = (value: JsonValue): JsonValue =>
      value === null || typeof value !== 'object' || Array.isArray(value)
        ? value
        : Object.fromEntries(Object.entries(value).toReversed());
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.parse(JSON.stringify(value)) as JsonValue;
        expect(canonicalJson(shuffled(json))).toBe(canonicalJson(json));
        expect(JSON.parse(canonicalJson(json))).toEqual(json);
      }),
    );
  });

  it.each([
    ['the feature', { ...said, feature: 'stylize' }, 'a'],
    ['a parameter', { ...said, parameters: { scale: 4 } }, 'a'],
    ['consent', { ...said, consent: 'confirmed' }, 'a'],
    ['the picture', said, 'b'],
    ['no picture', said, undefined],
  ])('changes with %s', (_, other, sha256) => {
    expect(fingerprintOf(other, sha256)).not.toBe(fingerprintOf(said, 'a'));
  });

  it('of a newer version is taken for the same request: the key decides', () => {
    expect(isSameRequest('v2:whatever', fingerprintOf(said, 'a'))).toBe(true);
    expect(isSameRequest(fingerprintOf(said, 'b'), fingerprintOf(said, 'a'))).toBe(false);
  });
});
