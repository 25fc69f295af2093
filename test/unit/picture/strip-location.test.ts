import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { exifOfOrientation, type Orientation } from '../../../lambdas/domain/exif-orientation.ts';
import { inspectPicture, type Picture } from '../../../lambdas/domain/picture.ts';
import { stripLocation } from '../../../lambdas/domain/strip-location.ts';
import { animatedPng, jpegSegment, pngChunk, riffChunk, webpOf, withChunks, withSegments } from './pieces.ts';
import { OWNER, samples, SERIAL, XMP_PLACE, type Sample } from './pictures.ts';

const LIMITS = { maxBytes: 10_000_000, maxPixels: 40_000_000 };
/** 52° 31' 12" as Exif stores it in little-endian rationals. */
const LATITUDE = Buffer.from([52, 0, 0, 0, 1, 0, 0, 0, 31, 0, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0]);
const SECRETS: readonly (string | Buffer)[] = [LATITUDE, OWNER, SERIAL, XMP_PLACE, 'Slow Camera', '2026:01:02'];

let all: readonly Sample[];
beforeAll(async () => {
  all = await samples();
});

const personal = (): readonly Sample[] => all.filter(({ name }) => !name.startsWith('bare'));

function sample(name: string): Buffer {
  const found = all.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`no sample ${name}`);
  return Buffer.from(found.bytes);
}

function raw(bytes: Uint8Array): Promise<Buffer> {
  return sharp(bytes, { pages: -1 }).raw().toBuffer();
}

function shown(bytes: Uint8Array): Promise<Buffer> {
  return sharp(bytes).autoOrient().raw().toBuffer();
}

describe('a stripped picture', () => {
  it('says nothing of place, time, owner or camera', () => {
    for (const { name, format, bytes } of personal()) {
      const stripped = Buffer.from(stripLocation(bytes, format));
      for (const secret of SECRETS) {
        // PNG compresses its XMP: there, that it is gone is seen by the decoder below.
        const wasReadable = format !== 'png' || secret !== XMP_PLACE;
        expect([name, secret, Buffer.from(bytes).includes(secret)]).toEqual([name, secret, wasReadable]);
        expect([name, secret, stripped.includes(secret)]).toEqual([name, secret, false]);
      }
      expect([name, stripped.length < bytes.length]).toEqual([name, true]);
    }
  });

  it('has the same pixels, as stored and as shown', async () => {
    for (const { name, format, bytes } of all) {
      const stripped = stripLocation(bytes, format);
      expect([name, (await raw(stripped)).equals(await raw(bytes))]).toEqual([name, true]);
      expect([name, (await shown(stripped)).equals(await shown(bytes))]).toEqual([name, true]);
    }
  });

  it('keeps its orientation and its colour profile, and nothing more', async () => {
    for (const { name, format, bytes } of all) {
      const before = await sharp(bytes).metadata();
      const after = await sharp(stripLocation(bytes, format)).metadata();
      expect([name, after.orientation]).toEqual([name, before.orientation]);
      expect([name, after.icc]).toEqual([name, before.icc]);
      expect([name, after.hasAlpha]).toEqual([name, before.hasAlpha]);
      expect([name, after.pages]).toEqual([name, before.pages]);
      expect([name, after.delay]).toEqual([name, before.delay]);
      expect([name, [after.xmp, after.iptc]]).toEqual([name, [undefined, undefined]]);
    }
  });

  it('is itself a picture that stripping leaves alone', () => {
    for (const { name, format, bytes } of all) {
      const once = stripLocation(bytes, format);
      expect([name, inspectPicture(once, LIMITS)]).toEqual([name, inspectPicture(bytes, LIMITS)]);
      expect([name, Buffer.from(stripLocation(once, format)).equals(once)]).toEqual([name, true]);
    }
  });

  it('loses what follows its end', () => {
    for (const { name, format, bytes } of all) {
      const polyglot = Buffer.concat([bytes, Buffer.from('PK\x03\x04 archive'), sample('JPEG')]);
      const stripped = stripLocation(polyglot, format);
      expect([name, Buffer.from(stripped).equals(stripLocation(bytes, format))]).toEqual([name, true]);
      expect({ [name]: inspectPicture(stripped, LIMITS) }).toMatchObject({ [name]: { trailingBytes: 0 } });
    }
  });

  it('does not change the bytes it was made from', async () => {
    for (const { name, format, bytes } of await samples()) {
      const before = Buffer.from(bytes);
      stripLocation(bytes, format);
      expect([name, before.equals(bytes)]).toEqual([name, true]);
    }
    const thumbnail = Buffer.concat([
      Buffer.from('JFIF\0\x01\x01\0\0\x48\0\x48\x01\x01', 'latin1'),
      Buffer.from('rgb'),
    ]);
    const loaded = withSegments(sample('bare JPEG'), jpegSegment(0xe0, thumbnail));
    const before = Buffer.from(loaded);
    stripLocation(loaded, 'jpeg');
    expect(before.equals(loaded)).toBe(true);
  });

  it('is never made of bytes that are no such picture', () => {
    expect(() => stripLocation(sample('PNG'), 'jpeg')).toThrow(TypeError);
    expect(() => stripLocation(sample('JPEG').subarray(0, -2), 'jpeg')).toThrow(TypeError);
  });
});

describe('a JPEG', () => {
  it('loses comments, IPTC, second pictures, thumbnails and unknown segments', async () => {
    const thumbnail = Buffer.concat([
      Buffer.from('JFIF\0\x01\x01\0\0\x48\0\x48\x02\x02', 'latin1'),
      Buffer.from('thumb secret'),
    ]);
    const bare = sample('bare JPEG');
    const loaded = withSegments(
      bare,
      jpegSegment(0xe0, thumbnail),
      jpegSegment(0xe0, 'JFXX\0 secret'),
      jpegSegment(0xe1, 'http://ns.adobe.com/xap/1.0/\0 secret'),
      jpegSegment(0xe1, 'http://ns.adobe.com/xmp/extension/\0 secret'),
      jpegSegment(0xe2, 'MPF\0 secret'),
      jpegSegment(0xe4, 'secret'),
      jpegSegment(0xed, 'Photoshop 3.0\x008BIM secret'),
      jpegSegment(0xf0, 'secret'),
      jpegSegment(0xfe, 'secret'),
    );
    const stripped = Buffer.from(stripLocation(loaded, 'jpeg'));
    expect(stripped.includes('secret')).toBe(false);
    expect(stripped.includes('JFIF')).toBe(true);
    // A thumbnail of 2 x 2 was declared, and is not there any more.
    expect([loaded[18], loaded[19], stripped[18], stripped[19]]).toEqual([2, 2, 0, 0]);
    expect((await raw(stripped)).equals(await raw(bare))).toBe(true);
  });

  it("keeps Adobe's colour transform, without what hides behind it", async () => {
    const cmyk = sample('CMYK JPEG');
    const at = cmyk.indexOf('Adobe');
    expect(at).toBeGreaterThan(0);
    const longer = Buffer.concat([cmyk.subarray(0, at + 12), Buffer.from('secret'), cmyk.subarray(at + 12)]);
    longer.writeUInt16BE(14 + 6, at - 2);
    const stripped = Buffer.from(stripLocation(longer, 'jpeg'));
    expect(stripped.includes('secret')).toBe(false);
    expect((await raw(stripped)).equals(await raw(cmyk))).toBe(true);
  });

  it('is turned by its first Exif, as decoders turn it', async () => {
    const turned = (orientation: Orientation): Buffer =>
      jpegSegment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), exifOfOrientation(orientation)]));
    const twice = withSegments(sample('bare JPEG'), turned(6), turned(3));
    expect(inspectPicture(twice, LIMITS)).toMatchObject({ orientation: 6 });
    expect((await sharp(twice).metadata()).orientation).toBe(6);
    expect((await shown(stripLocation(twice, 'jpeg'))).equals(await shown(twice))).toBe(true);
  });

  it('keeps its compressed data byte for byte', () => {
    for (const { name, format, bytes } of all) {
      if (format !== 'jpeg') continue;
      const data = Buffer.from(bytes).subarray(Buffer.from(bytes).lastIndexOf(Buffer.from([0xff, 0xda])));
      expect([name, Buffer.from(stripLocation(bytes, format)).includes(data)]).toEqual([name, true]);
    }
  });
});

describe('a PNG', () => {
  it('loses text, times, Exif and private chunks, and keeps its data', async () => {
    const png = sample('PNG');
    const loaded = withChunks(
      png,
      pngChunk('tEXt', 'Comment\0secret'),
      pngChunk('zTXt', 'Raw profile type exif\0\0secret'),
      pngChunk('iTXt', 'XML:com.adobe.xmp\0\0\0\0\0secret'),
      pngChunk('tIME', '\x07\xea\x01\x02\x03\x04\x05'),
      pngChunk('sPLT', 'secret\0'),
      pngChunk('prVt', 'secret'),
    );
    const stripped = Buffer.from(stripLocation(loaded, 'png'));
    for (const gone of ['secret', 'tIME', 'tEXt', 'zTXt', 'iTXt'])
      expect([gone, stripped.includes(gone)]).toEqual([gone, false]);
    const data = png.subarray(png.indexOf('IDAT'), png.indexOf('IEND'));
    expect(stripped.includes(data)).toBe(true);
    expect((await raw(stripped)).equals(await raw(png))).toBe(true);
  });

  it('goes on moving', () => {
    const animated = animatedPng(16, 12);
    expect(Buffer.from(stripLocation(animated, 'png')).equals(animated)).toBe(true);
  });
});

describe('a WebP', () => {
  it('says in its header what it still has', async () => {
    const stripped = Buffer.from(stripLocation(sample('lossy WebP'), 'webp'));
    expect(stripped.readUInt32LE(4)).toBe(stripped.length - 8);
    expect(stripped[20]).toBe(0x20 | 0x08);
    const plain = Buffer.from(stripLocation(sample('bare WebP'), 'webp'));
    expect(plain.equals(sample('bare WebP'))).toBe(true);
  });

  it('is turned by its Exif only where its header says that it has one, as decoders turn it', async () => {
    const bytes = sample('lossless WebP');
    for (const [flags, orientation] of [
      [0x08, 7],
      [0x00, undefined],
    ] as const) {
      const one = Buffer.from(bytes);
      one[20] = flags;
      expect(inspectPicture(one, LIMITS).kind).toBe('picture');
      expect((inspectPicture(one, LIMITS) as Picture).orientation).toBe(orientation);
      expect((await sharp(one).metadata()).orientation).toBe(orientation);
    }
  });

  it('loses unknown chunks, also those within its frames', async () => {
    const animated = sample('animated WebP');
    const at = animated.indexOf('ANMF');
    const length = animated.readUInt32LE(at + 4);
    const frame = riffChunk(
      'ANMF',
      Buffer.concat([animated.subarray(at + 8, at + 8 + length), riffChunk('note', 'secret')]),
    );
    const loaded = webpOf(
      animated.subarray(12, at),
      frame,
      animated.subarray(at + 8 + length + (length % 2)),
      riffChunk('note', 'secret'),
    );
    expect(inspectPicture(loaded, LIMITS)).toMatchObject({ kind: 'picture', frames: 3 });
    const stripped = Buffer.from(stripLocation(loaded, 'webp'));
    expect(stripped.equals(stripLocation(animated, 'webp'))).toBe(true);
    expect((await raw(stripped)).equals(await raw(animated))).toBe(true);
  });
});
