import { describe, expect, it } from 'vitest';
import { parseMultipart, type Form, type MultipartRefusal } from '../../lambdas/http/multipart.ts';
import { atMost, cpuMsOf } from './cpu-time.ts';
import { seeded, wounded } from './seeded.ts';

const BOUNDARY = 'slow-lane-boundary';
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
const MAX_FILE_BYTES = 20_000_000;
const BODIES = 4000;

function part(name: string, data: string | Buffer, more = ''): Buffer {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(data as string), Buffer.from('\r\n')]);
}

const CLOSE = Buffer.from(`--${BOUNDARY}--\r\n`);
const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xd9, 0x0d, 0x0a, 0x2d, 0x2d]);
const BODY = Buffer.concat([
  part('feature', 'upscale'),
  part('params', '{"factor":2}', '\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 12'),
  part('image', JPEG, '; filename="holiday.jpg"\r\nContent-Type: image/jpeg'),
  part('consent', 'confirmed'),
  CLOSE,
]);
/** What a splice brings in: boundaries, headers and line ends in odd places. */
const SHARDS = Buffer.concat([
  Buffer.from(`\r\n--${BOUNDARY}\r\n\r\n--${BOUNDARY}--\r\n\r\n\r\n\r\n--${BOUNDARY}`),
  Buffer.from('Content-Disposition: form-data; name="a"; filename*=utf-16le\'\'%00%ff\r\n folded\r\n\tX:\r\n:\r\n\r\n'),
  Buffer.from('content-type: multipart/mixed; boundary=inner\r\ncontent-transfer-encoding: base64\r\n'),
  BODY,
]);

async function outcome(body: Buffer, contentType = TYPE): Promise<Form | MultipartRefusal> {
  let timer: NodeJS.Timeout | undefined;
  const hung = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the parser hangs')), 5_000);
  });
  try {
    return await Promise.race([parseMultipart(body, contentType, MAX_FILE_BYTES), hung]);
  } finally {
    clearTimeout(timer);
  }
}

describe('wounded forms', () => {
  it(`are forms or refusals, ${BODIES} times`, async () => {
    const codes = new Map<string, number>();
    for (let seed = 0; seed < BODIES; seed++) {
      const answer = await outcome(wounded(BODY, SHARDS, seeded(seed)));
      const code = answer.kind === 'refused' ? answer.code : 'form';
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (answer.kind === 'refused') expect(answer.detail).not.toBe('');
      else for (const [name, value] of answer.fields) expect([typeof name, typeof value]).toEqual(['string', 'string']);
    }
    const expected = [
      'form',
      'multipart_truncated',
      'multipart_malformed',
      'multipart_field_duplicate',
      'multipart_field_not_utf8',
    ];
    for (const code of expected) expect([code, codes.get(code) ?? 0]).not.toEqual([code, 0]);
  });

  it('may be told to have any boundary', async () => {
    for (let seed = 0; seed < 1000; seed++) {
      const random = seeded(3_000_000 + seed);
      const type = wounded(Buffer.from(TYPE), Buffer.from('";boundary=\'*=\\ =?'), random).toString('latin1');
      const answer = await outcome(BODY, type);
      expect(['form', 'refused']).toContain(answer.kind);
    }
  });

  it('leave no listener that can end the process later', async () => {
    const failures: unknown[] = [];
    const note = (error: unknown): void => void failures.push(error);
    process.on('uncaughtExceptionMonitor', note);
    for (let length = 0; length < BODY.length; length++) await outcome(BODY.subarray(0, length));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('uncaughtExceptionMonitor', note);
    expect(failures).toEqual([]);
  });
});

describe('what is made to be slow', () => {
  const MANY = 8_000_000;
  const open = Buffer.from(`--${BOUNDARY}\r\n`);
  const delimiter = `\r\n--${BOUNDARY}`;

  it.each([
    ['one endless header', Buffer.concat([open, Buffer.alloc(MANY, 'X')])],
    [
      'headers without end',
      Buffer.concat([open, Buffer.alloc(MANY, 'X: y\r\n'), Buffer.from(`\r\n\r\n${delimiter}--`)]),
    ],
    ['boundaries without end', Buffer.alloc(MANY, `${delimiter}\r\n`)],
    ['almost boundaries', Buffer.concat([open, Buffer.alloc(MANY, delimiter.slice(0, -1))])],
    ['line ends', Buffer.concat([open, Buffer.alloc(MANY, '\r\n')])],
    ['dashes', Buffer.alloc(MANY, '-')],
  ])('is refused at once: %s', async (_, body) => {
    const { result, cpuMs } = await cpuMsOf(() => outcome(body));
    expect(result.kind).toBe('refused');
    expect(cpuMs).toBeLessThan(await atMost(2_000, 50));
  });

  it.each([
    ['almost boundaries', Buffer.alloc(MANY, delimiter.slice(0, -1))],
    ['zeros', Buffer.alloc(MANY)],
    ['dashes', Buffer.alloc(MANY, '-')],
  ])('is taken whole where it is only a file: %s', async (_, data) => {
    const answer = await outcome(Buffer.concat([part('image', data, '; filename="x"'), CLOSE]));
    if (answer.kind === 'refused') throw new Error(answer.code);
    expect(data.equals(answer.files.get('image')?.bytes ?? Buffer.alloc(0))).toBe(true);
  });
});
