import { describe, expect, it } from 'vitest';
import { parseMultipart, type Form, type MultipartRefusal } from '../../../lambdas/http/multipart.ts';

const BOUNDARY = '----SlowlaneFormBoundary7MA4YWxk';
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
const MAX_FILE_BYTES = 1_000_000;

function part(headers: string | readonly string[], data: string | Buffer): Buffer {
  const lines = typeof headers === 'string' ? [headers] : headers;
  return Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`, 'latin1'),
    Buffer.from(data as string),
    Buffer.from('\r\n'),
  ]);
}

const named = (name: string, more = ''): string => `Content-Disposition: form-data; name="${name}"${more}`;
const field = (name: string, value: string | Buffer): Buffer => part(named(name), value);
const image = (data: Buffer): Buffer => part([named('image', '; filename="a.jpg"'), 'Content-Type: image/jpeg'], data);
const form = (...parts: readonly Buffer[]): Buffer => Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);

function parse(body: Buffer, contentType = TYPE): Promise<Form | MultipartRefusal> {
  return parseMultipart(body, contentType, MAX_FILE_BYTES);
}

async function codeOf(body: Buffer, contentType = TYPE): Promise<string> {
  const answer = await parse(body, contentType);
  return answer.kind === 'refused' ? answer.code : answer.kind;
}

/** Every byte value, line ends and things that look like boundaries. */
function binary(length: number): Buffer {
  const data = Buffer.alloc(length);
  for (let index = 0; index < length; index++) data[index] = (index * 7 + (index >> 8)) & 255;
  data.write(`\r\n--${BOUNDARY.slice(0, -1)}X\r\n\r\n`, Math.floor(length / 2), 'latin1');
  return data;
}

describe('a form', () => {
  it('is what a browser sends', async () => {
    const sent = new FormData();
    sent.set('feature', 'upscale');
    sent.set('params', new Blob(['{"factor":2}'], { type: 'application/json' }));
    sent.set('metadata', '{"note":"grüße 🦥"}');
    sent.set('image', new Blob([new Uint8Array(binary(300_000))], { type: 'image/png' }), 'Foto ü.png');
    const request = new Response(sent);
    const body = Buffer.from(await request.clone().arrayBuffer());
    const answer = await parse(body, request.headers.get('content-type') ?? '');
    if (answer.kind === 'refused') throw new Error(answer.code);
    expect(Object.fromEntries(answer.fields)).toEqual({
      feature: 'upscale',
      params: '{"factor":2}',
      metadata: '{"note":"grüße 🦥"}',
    });
    expect(answer.files.get('image')).toMatchObject({ filename: 'Foto ü.png', contentType: 'image/png' });
    expect(binary(300_000).equals(answer.files.get('image')?.bytes ?? Buffer.alloc(0))).toBe(true);
  });

  it.each([0, 1, 65_535, 65_536, 65_537, 999_999, 1_000_000])('keeps a file of %i bytes exactly', async (length) => {
    const data = Buffer.alloc(length, '\r\n--');
    const answer = await parse(form(field('feature', 'x'), image(data), field('consent', '')));
    if (answer.kind === 'refused') throw new Error(answer.code);
    expect(data.equals(answer.files.get('image')?.bytes ?? Buffer.alloc(1))).toBe(true);
    expect([...answer.fields]).toEqual([
      ['feature', 'x'],
      ['consent', ''],
    ]);
  });

  it('may have no parts, a preamble and an epilogue', async () => {
    expect(await codeOf(form())).toBe('form');
    const body = Buffer.concat([Buffer.from('Preamble\r\n'), form(field('a', '1')), Buffer.from('epilogue')]);
    expect(await parse(body)).toMatchObject({ fields: new Map([['a', '1']]) });
  });

  it('may quote its boundary and write its headers in any case', async () => {
    const body = form(part(['content-disposition: FORM-DATA; NAME="a"', 'CONTENT-LENGTH: 1'], '1'));
    expect(await codeOf(body, `Multipart/Form-Data; charset=utf-8; Boundary="${BOUNDARY}"`)).toBe('form');
  });

  it('takes an image without a filename for the file', async () => {
    const answer = await parse(form(part([named('image'), 'Content-Type: image/webp'], binary(100))));
    expect(answer).toMatchObject({
      kind: 'form',
      files: new Map([['image', { contentType: 'image/webp', bytes: expect.anything() as unknown }]]),
    });
  });

  it('has names that mean nothing to it', async () => {
    const answer = await parse(form(field('__proto__', 'a'), field('constructor', 'b')));
    expect(answer).toMatchObject({
      fields: new Map([
        ['__proto__', 'a'],
        ['constructor', 'b'],
      ]),
    });
  });
});

describe('a form that is refused', () => {
  const twentyOne = Array.from({ length: 21 }, (_, index) => field(`f${index}`, 'x'));
  const whole = form(field('feature', 'x'), image(binary(5000)));

  it.each([
    ['names no boundary', whole, 'multipart/form-data', 'multipart_boundary_missing'],
    ['names an empty boundary', whole, 'multipart/form-data; boundary=""', 'multipart_boundary_missing'],
    [
      'names an endless boundary',
      whole,
      `multipart/form-data; boundary=${'b'.repeat(71)}`,
      'multipart_boundary_missing',
    ],
    ['is of another type', whole, `multipart/mixed; boundary=${BOUNDARY}`, 'multipart_boundary_missing'],
    ['is urlencoded', Buffer.from('a=1'), 'application/x-www-form-urlencoded', 'multipart_boundary_missing'],
    ['names another boundary', whole, 'multipart/form-data; boundary=other', 'multipart_malformed'],
    ['is empty', Buffer.alloc(0), TYPE, 'multipart_malformed'],
  ])('%s', async (_, body, contentType, code) => {
    expect(await codeOf(body, contentType)).toBe(code);
  });

  it.each([
    ['has 21 parts', form(...twentyOne), 'multipart_too_many_parts'],
    ['has a field that is too large', form(field('params', 'x'.repeat(65_537))), 'multipart_field_too_large'],
    ['has a file that is too large', form(image(Buffer.alloc(MAX_FILE_BYTES + 1))), 'image_too_large'],
    ['has a field twice', form(field('a', '1'), field('a', '2')), 'multipart_field_duplicate'],
    ['has the image twice', form(image(binary(50)), image(binary(50))), 'multipart_field_duplicate'],
    [
      'has a file of another name',
      form(part([named('photo', '; filename="a.jpg"'), 'Content-Type: image/jpeg'], 'x')),
      'multipart_file_unexpected',
    ],
    ['has a field that is not UTF-8', form(field('a', Buffer.from([0xc3, 0x28]))), 'multipart_field_not_utf8'],
    [
      'has a part in base64',
      form(part([named('image'), 'Content-Transfer-Encoding: base64'], 'eA==')),
      'multipart_encoding_unsupported',
    ],
    ['has a part without a name', form(part('Content-Disposition: form-data', 'x')), 'multipart_malformed'],
    ['has a part with an empty name', form(field('', 'x')), 'multipart_malformed'],
    ['has a part without a disposition', form(part('Content-Type: text/plain', 'x')), 'multipart_malformed'],
    [
      'has a part that is an attachment',
      form(part('Content-Disposition: attachment; name="a"', 'x')),
      'multipart_malformed',
    ],
    ['has a part without headers', form(part([], 'x')), 'multipart_malformed'],
    ['has a part with a bare line break', form(part(`${named('a')}\nX: y`, 'x')), 'multipart_malformed'],
    ['has a part that declares too much', form(part([named('a'), 'Content-Length: 5'], 'x')), 'multipart_malformed'],
    ['has a part that declares nonsense', form(part([named('a'), 'Content-Length: -1'], 'x')), 'multipart_malformed'],
    ['has a header of 9 KiB', form(part([named('a'), `X: ${'y'.repeat(9000)}`], 'x')), 'multipart_headers_too_large'],
    [
      'has 40 headers',
      form(part([named('a'), ...Array.from({ length: 40 }, () => 'X: y')], 'x')),
      'multipart_headers_too_large',
    ],
    ['has no empty line', Buffer.from(`--${BOUNDARY}\r\n${named('a')}\r\n--${BOUNDARY}--`), 'multipart_malformed'],
    ['has text behind its boundary', Buffer.from(`--${BOUNDARY}x\r\n\r\n--${BOUNDARY}--`), 'multipart_malformed'],
    ['has another boundary that begins the same', form(field('a', `\r\n--${BOUNDARY}0\r\n`)), 'multipart_malformed'],
    ['has no closing boundary', whole.subarray(0, -BOUNDARY.length - 6), 'multipart_truncated'],
  ])('%s', async (_, body, code) => {
    expect(await codeOf(body)).toBe(code);
  });

  it('is told what is wrong with its boundary', async () => {
    const body = Buffer.from(`--${BOUNDARY}x\r\n${named('a')}\r\n\r\n1\r\n--${BOUNDARY}--`);
    expect(await parse(body)).toMatchObject({ detail: 'A boundary is not on a line of its own.' });
  });

  it('is cut off anywhere', async () => {
    for (let length = 0; length < whole.length - 2; length++) {
      const code = await codeOf(whole.subarray(0, length));
      const expected = length < BOUNDARY.length + 2 ? 'multipart_malformed' : 'multipart_truncated';
      expect([length, code]).toEqual([length, expected]);
    }
  });
});
