import type { Seeded } from '../fixtures/seeded.ts';
import { allIds, residents, uploadIdOf } from './canaries.ts';

/** Text that has broken somebody's program before. */
const texts: readonly string[] = [
  '',
  ' ',
  '\0',
  '\t',
  '-',
  '.',
  '..',
  '../..',
  '../../../etc/passwd',
  '..%2f..%2f',
  '%2e%2e%2f',
  '%',
  '%zz',
  '%00',
  '%ff',
  'a/b',
  '/ann',
  'ann/',
  'acme/ann',
  'acme%2Fann',
  String.raw`a\b`,
  String.raw`\ud800`,
  'null',
  'undefined',
  'NaN',
  '[object Object]',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'é',
  '\u00ff\u00fe',
  '\u202Eexe',
  '\uFEFFfeature',
  '\u212A',
  'ﬀ',
  '😀',
  '\ud800',
  '\udc00x',
  'e\u0301'.repeat(40),
  "' OR 1=1 --",
  '${jndi:ldap://x/}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
  'ann\r\nSlowlane-User: ben',
  'ann,ben',
  'job',
  'job_',
  `job_${'a'.repeat(52)}`,
  `job_${'A'.repeat(52)}`,
  'lane#default',
  'owner#acme/ben',
  'api-keys',
  'vendor-job#studio#1',
  'request#submit-1',
  'upl_',
  '0',
  '-1',
  '1e3',
  '0x10',
  '9007199254740993',
  '1'.repeat(400),
  '2026-13-45T99:99:99Z',
  'queued,,succeeded',
  'A'.repeat(65),
  'A'.repeat(101),
  'A'.repeat(129),
  'A'.repeat(256),
  'A'.repeat(2_100),
  'é'.repeat(1_100),
  'A'.repeat(9_000),
  '"'.repeat(300),
  `"${String.raw`\"`.repeat(120)}"`,
  '('.repeat(500),
];

/** Any of these, or a name that belongs to somebody else. */
export function nastyText(random: Seeded): string {
  switch (random.below(8)) {
    case 0:
      return random.pick(allIds);
    case 1:
      return uploadIdOf(random.pick(residents));
    case 2:
      return random.pick(residents).user;
    case 3:
      return wild(random);
    default:
      return random.pick(texts);
  }
}

/** Code units of every kind, lone surrogates and controls among them. */
function wild(random: Seeded): string {
  const units = Array.from({ length: 1 + random.below(40) }, () =>
    random.below(random.pick([0x20, 0x80, 0x100, 0x1_00_00])),
  );
  return String.fromCharCode(...units);
}

const values: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => 0,
  () => -0,
  () => -1,
  () => 0.5,
  () => 1e21,
  () => 2 ** 53,
  () => Number.MAX_VALUE,
  () => [],
  () => ({}),
  () => [[]],
  () => [null, null],
  () => ({ length: 1e9 }),
  () => JSON.parse('{"toString":1,"valueOf":1,"then":1}') as unknown,
  () => ({ toJSON: 'x', constructor: { prototype: { polluted: true } } }),
  () => ['upscale'],
  () => ({ image: { uploadId: 'x' }, other: 1 }),
  () => nested(5),
  () => nested(17),
  () => nested(40),
];

function nested(levels: number): unknown {
  let value: unknown = 'bottom';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { deeper: value };
  return value;
}

export function nastyValue(random: Seeded): unknown {
  return random.below(2) === 0 ? nastyText(random) : random.pick(values)();
}

type Members = Record<string, unknown>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The same value, with one thing about it that is wrong. */
export function spoiled(value: unknown, random: Seeded): unknown {
  if (!isMembers(value) || random.below(12) === 0) return nastyValue(random);
  const names = Object.keys(value);
  const name = names.length === 0 ? 'added' : random.pick(names);
  // Half of the harm goes to what is inside: it is judged later, and by others.
  if (isMembers(value[name]) && random.below(2) === 0) return { ...value, [name]: spoiled(value[name], random) };
  switch (random.below(6)) {
    case 0:
      return { ...value, [nastyText(random)]: nastyValue(random) };
    case 1:
      return Object.fromEntries(Object.entries(value).filter(([each]) => each !== name));
    case 2:
      return { ...value, [name]: spoiled(value[name], random) };
    case 3:
      return { ...value, [name.toUpperCase()]: value[name] };
    default:
      return { ...value, [name]: nastyValue(random) };
  }
}

/** JSON text that says something else than it should, or is none. */
export function nastyJson(value: unknown, random: Seeded): string | Uint8Array {
  const text = JSON.stringify(spoiled(value, random)) ?? 'undefined';
  if (random.below(2) === 0) return text;
  const at = random.below(text.length + 1);
  switch (random.below(14)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text + text;
    case 2:
      return `\uFEFF${text}`;
    case 3:
      return `${text.slice(0, at)}\0${text.slice(at)}`;
    case 4:
      return text.replace(/^\{/, `{"__proto__":${JSON.stringify({ scopes: ['operator'], polluted: true })},`);
    case 5:
      return text.replace(/^\{/, `{"constructor":{"prototype":{"polluted":true}},`);
    case 6:
      return text.replace(/:[^,}]+/, ':1e999');
    case 7:
      return text.replace(/:[^,}]+/, `:1${'0'.repeat(random.pick([30, 400, 5_000]))}`);
    case 8:
      return text.replace(/^\{(.*)\}$/s, '{$1,$1}');
    case 9:
      return text.replace(/"[^"]*"/, String.raw`"\ud83d"`);
    case 10:
      return Buffer.from(text, 'utf16le');
    case 11:
      return Buffer.concat([
        Buffer.from(text.slice(0, at)),
        Buffer.from([0xff, 0xc0, 0x80]),
        Buffer.from(text.slice(at)),
      ]);
    case 12:
      return `${'['.repeat(random.pick([20, 3_000, 20_000]))}${text}`;
    default:
      return deepened(value, random);
  }
}

/** JSON that parses, one member of it nested deeper than what walks it may go. */
function deepened(value: unknown, random: Seeded): string {
  const levels = random.pick([15, 17, 3_000, 20_000]);
  const name = isMembers(value) ? random.pick(Object.keys(value)) : 'added';
  const text = JSON.stringify({ ...(isMembers(value) ? value : {}), [name]: '@deep' });
  const [open, close] = random.pick([['[', ']'] as const, ['{"a":', '}'] as const]);
  return text.replace('"@deep"', `${open.repeat(levels)}1${close.repeat(levels)}`);
}
