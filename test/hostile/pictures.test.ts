import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { inspectPicture, type Picture } from '../../lambdas/domain/picture.ts';
import { stripLocation } from '../../lambdas/domain/strip-location.ts';
import { animatedPng, jpegSegment, pngChunk, pngHeader, PNG_SIGNATURE, riffChunk } from '../unit/picture/pieces.ts';
import { OWNER, samples, SERIAL, type Sample } from '../unit/picture/pictures.ts';
import { atMost, cpuMsOf } from './cpu-time.ts';
import { seeded, wounded } from './seeded.ts';

const LIMITS = { maxBytes: 50_000_000, maxPixels: 40_000_000 };
const PICTURES = 6000;
const MARKS = [OWNER, SERIAL, 'Slow Camera'].map((mark) => Buffer.from(mark));

let seeds: readonly Sample[];
beforeAll(async () => {
  const made = (await samples()).filter(({ bytes }) => bytes.length < 20_000);
  seeds = [...made, { name: 'animated PNG', format: 'png', bytes: animatedPng(24, 18) }];
});

/** Writes every chunk's checksum anew, so that what is wrong behind it is reached. */
function withChecksums(png: Buffer): Buffer {
  for (let at = 8; at + 12 <= png.length;) {
    const end = at + 12 + png.readUInt32BE(at);
    if (end > png.length) break;
    png.writeUInt32BE(crc32(png.subarray(at + 4, end - 4)), end - 4);
    at = end;
  }
  return png;
}

/** What must hold for every picture that is taken, however it came about. */
function checkTaken(bytes: Buffer, picture: Picture, label: string): void {
  const stripped = Buffer.from(stripLocation(bytes, picture.format));
  const again = inspectPicture(stripped, LIMITS);
  expect({ label, ...again }).toEqual({ label, ...picture, trailingBytes: 0 });
  expect([label, Buffer.from(stripLocation(stripped, picture.format)).equals(stripped)]).toEqual([label, true]);
}

describe('wounded pictures', () => {
  it(`are pictures or refusals, ${PICTURES} times`, () => {
    const codes = new Map<string, number>();
    for (let seed = 0; seed < PICTURES; seed++) {
      const random = seeded(seed);
      const victim = seeds[random(seeds.length)]!;
      const other = seeds[random(seeds.length)]!;
      let bytes = wounded(victim.bytes, other.bytes, random);
      if (victim.format === 'png' && random(4) > 0) bytes = withChecksums(bytes);
      const before = Buffer.from(bytes);

      const answer = inspectPicture(bytes, LIMITS);
      const code = answer.kind === 'refused' ? answer.code : answer.format;
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (answer.kind === 'refused') expect(answer.detail).not.toBe('');
      else checkTaken(bytes, answer, `seed ${seed}: ${victim.name}`);
      expect(bytes.equals(before)).toBe(true);
    }
    // Wounds of every kind were dealt: some were survived in every format, others not.
    for (const code of ['jpeg', 'png', 'webp', 'image_broken', 'image_unrecognized', 'image_too_many_pixels']) {
      expect([code, codes.get(code) ?? 0]).not.toEqual([code, 0]);
    }
  });

  it('keep no owner once stripped, unless the wound moved it into the pixels', () => {
    for (let seed = 0; seed < 1500; seed++) {
      const random = seeded(1_000_000 + seed);
      const victim = seeds[random(seeds.length)]!;
      const bytes = Buffer.from(victim.bytes);
      // One wound within the Exif block leaves it where it is.
      const exif = bytes.indexOf(MARKS[0]!);
      if (exif === -1) continue;
      bytes[exif - random(200)] = random(256);
      const whole = victim.format === 'png' ? withChecksums(bytes) : bytes;
      if (inspectPicture(whole, LIMITS).kind === 'refused') continue;
      const stripped = Buffer.from(stripLocation(whole, victim.format));
      for (const mark of MARKS) expect([seed, stripped.includes(mark)]).toEqual([seed, false]);
    }
  });

  it('are decoded to the same pixels with and without their metadata', async () => {
    let compared = 0;
    for (let seed = 0; seed < 400; seed++) {
      const random = seeded(2_000_000 + seed);
      const victim = seeds[random(seeds.length)]!;
      const bytes = wounded(victim.bytes, victim.bytes, random);
      const answer = inspectPicture(bytes, LIMITS);
      if (answer.kind === 'refused') continue;
      const decode = (from: Uint8Array): Promise<Buffer> =>
        sharp(from, { failOn: 'error' }).autoOrient().raw().toBuffer();
      const before = await decode(bytes).catch(() => undefined);
      if (before === undefined) continue;
      const after = await decode(stripLocation(bytes, answer.format));
      expect([seed, after.equals(before)]).toEqual([seed, true]);
      compared++;
    }
    expect(compared).toBeGreaterThan(20);
  });
});

describe('what is made to be slow', () => {
  const MANY = 4_000_000;
  const jpeg = Buffer.from([0xff, 0xd8, 0xff]);
  const frame = jpegSegment(0xc0, Buffer.from([8, 0, 8, 0, 8, 1, 1, 0x11, 0]));
  const scan = jpegSegment(0xda, Buffer.from([1, 1, 0, 0, 63, 0]));

  it.each([
    ['fill bytes without end', Buffer.concat([jpeg, Buffer.alloc(MANY, 0xff)])],
    ['empty segments', Buffer.concat([jpeg.subarray(0, 2), Buffer.alloc(MANY, Buffer.from([0xff, 0xe1, 0, 2]))])],
    ['stuffed bytes', Buffer.concat([jpeg.subarray(0, 2), frame, scan, Buffer.alloc(MANY, Buffer.from([0xff, 0]))])],
    ['fill bytes in a scan', Buffer.concat([jpeg.subarray(0, 2), frame, scan, Buffer.alloc(MANY, 0xff)])],
    [
      'scans without end',
      Buffer.concat([jpeg.subarray(0, 2), frame, Buffer.alloc(MANY, Buffer.concat([scan, Buffer.from([1])]))]),
    ],
    ['empty PNG chunks', Buffer.concat([PNG_SIGNATURE, pngHeader(8, 8), Buffer.alloc(MANY, pngChunk('tEXt', ''))])],
    [
      'tiny PNG data chunks',
      Buffer.concat([PNG_SIGNATURE, pngHeader(8, 8), Buffer.alloc(MANY, pngChunk('IDAT', 'x'))]),
    ],
    [
      'empty WebP chunks',
      Buffer.concat([Buffer.from('RIFF\xf8\x08\x3d\0WEBP', 'latin1'), Buffer.alloc(MANY, riffChunk('note', ''))]),
    ],
    ['comments that open', Buffer.alloc(MANY, '<!---->')],
  ])('is refused at once: %s', async (_, bytes) => {
    const { result, cpuMs } = await cpuMsOf(() => inspectPicture(bytes, LIMITS));
    expect(result.kind).toBe('refused');
    // Linear time takes milliseconds here; the rest is for a slow machine.
    expect(cpuMs).toBeLessThan(await atMost(2_000, 50));
  });
});
