import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { inspectPicture, type PictureLimits } from '../../../lambdas/domain/picture.ts';
import {
  animatedPng,
  extendedHeader,
  greyData,
  jpegSegment,
  pngChunk,
  pngHeader,
  pngOf,
  riffChunk,
  webpOf,
  withChunks,
  withSegments,
} from './pieces.ts';
import { samples, type Sample } from './pictures.ts';

const LIMITS: PictureLimits = { maxBytes: 10_000_000, maxPixels: 40_000_000 };

let all: readonly Sample[];
beforeAll(async () => {
  all = await samples();
});

function sample(name: string): Buffer {
  const found = all.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`no sample ${name}`);
  return Buffer.from(found.bytes);
}

const text = (content: string): Buffer => Buffer.from(content, 'latin1');

function codeOf(bytes: Uint8Array, limits = LIMITS): string {
  const answer = inspectPicture(bytes, limits);
  return answer.kind === 'refused' ? answer.code : answer.kind;
}

describe('a real picture', () => {
  it('is read as the decoder reads it', async () => {
    for (const { name, format, bytes } of all) {
      const read = await sharp(bytes).metadata();
      expect({ name, ...inspectPicture(bytes, LIMITS) }).toEqual({
        name,
        kind: 'picture',
        format,
        contentType: `image/${format}`,
        width: read.width,
        height: read.height,
        ...(read.orientation === undefined ? {} : { orientation: read.orientation }),
        frames: read.pages ?? 1,
        trailingBytes: 0,
      });
    }
  });

  it('is refused when cut off anywhere', () => {
    for (const { name, bytes } of all) {
      const step = Math.max(1, Math.floor(bytes.length / 4000));
      for (let length = 12; length < bytes.length; length += step) {
        expect([name, length, codeOf(bytes.subarray(0, length))]).toEqual([name, length, 'image_broken']);
      }
    }
  });

  it('may be a view into other bytes', () => {
    const bytes = sample('PNG');
    const within = new Uint8Array(bytes.length + 50);
    within.set(bytes, 17);
    expect(inspectPicture(within.subarray(17, 17 + bytes.length), LIMITS)).toMatchObject({ width: 53, height: 31 });
  });

  it('tells what follows its end', () => {
    for (const { name, bytes } of all) {
      const polyglot = Buffer.concat([bytes, text('PK\x03\x04 an archive')]);
      expect({ [name]: inspectPicture(polyglot, LIMITS) }).toMatchObject({
        [name]: { kind: 'picture', trailingBytes: 15 },
      });
    }
  });

  it('counts every frame of an animated PNG', () => {
    expect(inspectPicture(animatedPng(30, 20), LIMITS)).toMatchObject({ kind: 'picture', width: 30, frames: 2 });
    expect(codeOf(animatedPng(30, 20), { ...LIMITS, maxPixels: 1_199 })).toBe('image_too_many_pixels');
  });
});

describe('limits', () => {
  it('are exact', () => {
    const bytes = sample('JPEG');
    expect(codeOf(bytes, { maxBytes: bytes.length, maxPixels: 61 * 47 })).toBe('picture');
    expect(codeOf(bytes, { maxBytes: bytes.length - 1, maxPixels: 61 * 47 })).toBe('image_too_large');
    expect(codeOf(bytes, { maxBytes: bytes.length, maxPixels: 61 * 47 - 1 })).toBe('image_too_many_pixels');
    expect(codeOf(sample('animated WebP'), { ...LIMITS, maxPixels: 40 * 30 * 3 - 1 })).toBe('image_too_many_pixels');
  });

  it('stop a decompression bomb by what it declares', () => {
    const jpeg = sample('bare JPEG');
    const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
    jpeg.fill(0xff, frame + 5, frame + 9);
    expect(codeOf(jpeg)).toBe('image_too_many_pixels');

    const data = pngChunk('IDAT', greyData(8, 8, 0));
    expect(codeOf(pngOf(pngHeader(65_535, 65_535), data, pngChunk('IEND', '')))).toBe('image_too_many_pixels');
    expect(codeOf(webpOf(extendedHeader(0, 16_777_216, 256), riffChunk('VP8L', '')))).toBe('image_too_many_pixels');
  });

  it('stop a PNG that declares more than its data can hold, whatever the limit', () => {
    const hollow = pngOf(pngHeader(60_000, 60_000), pngChunk('IDAT', greyData(8, 8, 0)), pngChunk('IEND', ''));
    expect(codeOf(hollow, { ...LIMITS, maxPixels: Infinity })).toBe('image_broken');
  });
});

describe('what is no picture that is taken', () => {
  const HEIC = text('\0\0\0\x18ftypmif1\0\0\0\0mif1heic');
  it.each([
    ['nothing', Buffer.alloc(0), 'image_empty'],
    ['one byte', text('\xff'), 'image_unrecognized'],
    ['HTML', text('<!DOCTYPE html><html><svg></svg></html>'), 'image_unrecognized'],
    ['JSON', text('{"image":"x"}'), 'image_unrecognized'],
    ['a ZIP', text('PK\x03\x04'), 'image_unrecognized'],
    ['a video', text('\0\0\0\x18ftypmp42\0\0\0\0isommp42'), 'image_unrecognized'],
    ['a WAVE file', text('RIFF\x10\0\0\0WAVEfmt '), 'image_unrecognized'],
    ['a HEIC', HEIC, 'image_unsupported'],
    ['an AVIF', text('\0\0\0\x18ftypavif\0\0\0\0mif1'), 'image_unsupported'],
    ['a GIF', text('GIF89a'), 'image_unsupported'],
    ['an SVG', text('<?xml version="1.0"?><!-- x --><svg xmlns="http://www.w3.org/2000/svg"/>'), 'image_unsupported'],
    ['a TIFF', text('II*\0\x08\0\0\0'), 'image_unsupported'],
    ['a BMP', text('BM\x10\0'), 'image_unsupported'],
  ])('refuses %s', (_, bytes, code) => {
    expect(codeOf(bytes)).toBe(code);
  });

  it('names HEIC, since phones send it', () => {
    expect(inspectPicture(HEIC, LIMITS)).toMatchObject({ detail: expect.stringContaining('HEIC') as string });
  });
});

describe('a broken JPEG', () => {
  const END = Buffer.from([0xff, 0xd9]);
  const frame = (...head: readonly number[]): Buffer => jpegSegment(0xc0, Buffer.from(head));
  const grey = frame(8, 0, 8, 0, 8, 1, 1, 0x11, 0);
  const scan = Buffer.concat([jpegSegment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])), Buffer.from([1, 2, 3])]);
  const longScan = Buffer.concat([jpegSegment(0xda, Buffer.from([1, 1, 0, 0, 63, 0, 0])), Buffer.from([1, 2, 3])]);
  const jpeg = (...pieces: readonly Buffer[]): Buffer => Buffer.concat([Buffer.from([0xff, 0xd8]), ...pieces]);

  const huffman = (counts: readonly number[], head = 0): Buffer => {
    const values = counts.reduce((total, count) => total + count, 0);
    const lengths = Buffer.alloc(16);
    lengths.set(counts);
    return jpegSegment(0xc4, Buffer.concat([Buffer.from([head]), lengths, Buffer.alloc(values)]));
  };

  it('is told from a whole one', () => {
    expect(codeOf(jpeg(grey, scan, END))).toBe('picture');
    expect(codeOf(jpeg(grey, scan, Buffer.from([0xff, 0xff, 0, 7, 0xff, 0xd0, 7, 0xff]), END))).toBe('picture');
    expect(codeOf(jpeg(huffman([1, 2]), huffman([0, 1, 5], 0x11), grey, scan, END))).toBe('picture');
  });

  it.each([
    ['no frame', jpeg(END), 'image_broken'],
    ['no scan', jpeg(grey, END), 'image_broken'],
    ['no end', jpeg(grey, scan), 'image_broken'],
    ['a scan before its frame', jpeg(scan, grey, END), 'image_broken'],
    ['two frames', jpeg(grey, grey, scan, END), 'image_broken'],
    ['a scan without data', jpeg(grey, scan.subarray(0, -3), END), 'image_broken'],
    [
      'a scan of a stranger',
      jpeg(grey, jpegSegment(0xda, Buffer.from([1, 9, 0, 0, 63, 0])), text('abc'), END),
      'image_broken',
    ],
    ['no width', jpeg(frame(8, 0, 8, 0, 0, 1, 1, 0x11, 0), scan, END), 'image_broken'],
    ['no height', jpeg(frame(8, 0, 0, 0, 8, 1, 1, 0x11, 0), scan, END), 'image_broken'],
    ['an impossible component', jpeg(frame(8, 0, 8, 0, 8, 1, 1, 0x51, 0), scan, END), 'image_broken'],
    ['bytes between segments', jpeg(grey, text('x'), scan, END), 'image_broken'],
    ['a picture within its scan', jpeg(grey, scan, jpeg(grey, scan, END)), 'image_broken'],
    ['a length of 1', jpeg(Buffer.from([0xff, 0xe1, 0, 1]), grey, scan, END), 'image_broken'],
    ['too many scans', jpeg(grey, ...Array.from({ length: 201 }, () => scan), END), 'image_broken'],
    ['a Huffman table of too many codes', jpeg(huffman([3]), grey, scan, END), 'image_broken'],
    ['a Huffman table cut short', jpeg(huffman([1, 2]).subarray(0, -1), grey, scan, END), 'image_broken'],
    ['a third class of Huffman tables', jpeg(huffman([1], 0x20), grey, scan, END), 'image_broken'],
    ['no quantization values', jpeg(jpegSegment(0xdb, '\0 too short'), grey, scan, END), 'image_broken'],
    ['a ninth quantization table', jpeg(jpegSegment(0xdb, Buffer.alloc(65, 8)), grey, scan, END), 'image_broken'],
    ['an endless restart interval', jpeg(jpegSegment(0xdd, '\0\0\0'), grey, scan, END), 'image_broken'],
    ['a scan header of a wrong length', jpeg(grey, longScan, END), 'image_broken'],
    ['12 bits', jpeg(frame(12, 0, 8, 0, 8, 1, 1, 0x11, 0), scan, END), 'image_unsupported'],
    [
      'a lossless frame',
      jpeg(jpegSegment(0xc3, Buffer.from([8, 0, 8, 0, 8, 1, 1, 0x11, 0])), scan, END),
      'image_unsupported',
    ],
  ])('has %s', (_, bytes, code) => {
    expect(codeOf(bytes)).toBe(code);
  });

  it('still has its orientation where the rest of its Exif is nonsense', () => {
    const tiff = 'MM\0*\0\0\0\x08\0\x09\x01\x12\0\x03\0\0\0\x01\0\x06\0\0';
    const oriented = withSegments(jpeg(grey, scan, END), jpegSegment(0xe1, `Exif\0\0${tiff}`));
    expect(inspectPicture(oriented, LIMITS)).toMatchObject({ orientation: 6 });
    const nonsense = withSegments(jpeg(grey, scan, END), jpegSegment(0xe1, 'Exif\0\0MM\0*\xff\xff\xff\xff'));
    expect(inspectPicture(nonsense, LIMITS)).not.toHaveProperty('orientation');
  });
});

describe('a broken PNG', () => {
  const data = pngChunk('IDAT', greyData(8, 8, 90));
  const end = pngChunk('IEND', '');
  const header = pngHeader(8, 8);
  const damaged = Buffer.from(data);
  damaged[damaged.length - 6] = (damaged.at(-6) ?? 0) ^ 1; // in the data, behind its zlib header

  it.each([
    ['no header', pngOf(data, end), 'image_broken'],
    ['two headers', pngOf(header, header, data, end), 'image_broken'],
    ['no data', pngOf(header, end), 'image_broken'],
    ['empty data', pngOf(header, pngChunk('IDAT', ''), end), 'image_broken'],
    ['data that is no zlib stream', pngOf(header, pngChunk('IDAT', 'plain text'), end), 'image_broken'],
    ['data in two runs', pngOf(header, data, pngChunk('tIME', '1234567'), data, end), 'image_broken'],
    ['a wrong checksum', pngOf(header, damaged, end), 'image_broken'],
    ['no width', pngOf(pngHeader(0, 8), data, end), 'image_broken'],
    ['a negative width', pngOf(pngHeader(0x80_00_00_00, 1), data, end), 'image_broken'],
    ['an impossible depth', pngOf(pngHeader(8, 8, 4, 2), data, end), 'image_broken'],
    ['a palette type without palette', pngOf(pngHeader(8, 8, 8, 3), data, end), 'image_broken'],
    ['an end that is not empty', pngOf(header, data, pngChunk('IEND', 'x')), 'image_broken'],
    ['a chunk with no letters', pngOf(header, pngChunk('a\0bc', ''), data, end), 'image_broken'],
    ['a frame outside of it', withChunks(animatedPng(8, 8), pngChunk('fcTL', Buffer.alloc(26, 1))), 'image_broken'],
    ['an unknown critical chunk', pngOf(header, pngChunk('ABCD', ''), data, end), 'image_unsupported'],
    ["Apple's variant", pngOf(pngChunk('CgBI', '\x50\0\x20\x02'), header, data, end), 'image_unsupported'],
  ])('has %s', (_, bytes, code) => {
    expect(codeOf(bytes)).toBe(code);
  });
});

describe('a broken WebP', () => {
  const lossless = (): Buffer => {
    const bare = sample('lossless WebP');
    const at = bare.indexOf('VP8L');
    return bare.subarray(at, at + 8 + bare.readUInt32LE(at + 4) + (bare.readUInt32LE(at + 4) % 2));
  };

  it('is told from a whole one', () => {
    expect(codeOf(webpOf(lossless()))).toBe('picture');
    expect(codeOf(webpOf(extendedHeader(0, 61, 47), lossless()))).toBe('picture');
    expect(codeOf(webpOf(riffChunk('VP8 ', Buffer.from([0x30, 0, 0, 0x9d, 1, 0x2a, 8, 0, 8, 0, 1, 2, 3]))))).toBe(
      'picture',
    );
  });

  it('is refused', () => {
    const cases: Record<string, Buffer> = {
      'other dimensions': webpOf(extendedHeader(0, 61, 48), lossless()),
      'two pictures': webpOf(extendedHeader(0, 61, 47), lossless(), lossless()),
      'no picture': webpOf(extendedHeader(0, 61, 47)),
      'an animation without frames': webpOf(extendedHeader(2, 61, 47), riffChunk('ANIM', '\0\0\0\0\0\0')),
      'a frame outside': webpOf(
        extendedHeader(2, 8, 8),
        riffChunk('ANIM', '\0\0\0\0\0\0'),
        riffChunk('ANMF', Buffer.alloc(60, 9)),
      ),
      'a bare header': webpOf(riffChunk('VP8 ', 'too short')),
      'a partition longer than its data': webpOf(
        riffChunk('VP8 ', Buffer.from([0x10, 0xff, 0xff, 0x9d, 1, 0x2a, 8, 0, 8, 0, 1, 2, 3])),
      ),
      'an unknown first chunk': webpOf(riffChunk('JUNK', 'x'), lossless()),
      'no chunk': Buffer.from('RIFF\x04\0\0\0WEBP\0\0\0\0\0\0\0\0', 'latin1'),
    };
    for (const [name, bytes] of Object.entries(cases)) expect([name, codeOf(bytes)]).toEqual([name, 'image_broken']);
  });
});
