import sharp, { type Sharp } from 'sharp';
import type { PictureFormat } from '../../../lambdas/domain/picture.ts';

/** A real picture with everything in it that a phone would tell about its owner. */
export type Sample = { readonly name: string; readonly format: PictureFormat; readonly bytes: Uint8Array };

export const OWNER = 'Zaphod Owner-Name';
export const SERIAL = 'SERIAL-0042-7788';
export const XMP_PLACE = 'XmpPlaceOfZaphod';

const EXIF = {
  IFD0: { Artist: OWNER, Copyright: OWNER, Make: 'Slow Camera', Model: 'Lane 3' },
  IFD2: { BodySerialNumber: SERIAL, CameraOwnerName: OWNER, DateTimeOriginal: '2026:01:02 03:04:05' },
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 31/1 12/1', GPSLongitudeRef: 'E', GPSLongitude: '13/1 24/1 36/1' },
};

const XMP = `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" photoshop:City="${XMP_PLACE}"/></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`;

/** Pixels with edges, gradients and noise, the same in every run. */
export function pixels(width: number, height: number, channels: 3 | 4): Buffer {
  const raw = Buffer.alloc(width * height * channels);
  let state = 7;
  for (let index = 0; index < raw.length; index++) {
    state = (state * 1_103_515_245 + 12_345) & 0x7f_ff_ff_ff;
    raw[index] = (((index * 3) % 251) ^ ((state >> 16) & 31)) & 255;
  }
  return raw;
}

function personal(width: number, height: number, channels: 3 | 4, orientation?: number): Sharp {
  const image = sharp(pixels(width, height, channels), { raw: { width, height, channels } })
    .withIccProfile('p3')
    .withExif(EXIF)
    .withXmp(XMP);
  return orientation === undefined ? image : image.withMetadata({ orientation }).withExifMerge(EXIF);
}

export async function samples(): Promise<readonly Sample[]> {
  const frame = (shade: number): Buffer => Buffer.alloc(40 * 30 * 4, shade);
  const animation = sharp(Buffer.concat([frame(40), frame(120), pixels(40, 30, 4)]), {
    raw: { width: 40, height: 90, channels: 4, pageHeight: 30 },
  })
    .withIccProfile('p3')
    .withExif(EXIF)
    .withXmp(XMP);
  const made: readonly (readonly [string, PictureFormat, Sharp])[] = [
    ['JPEG', 'jpeg', personal(61, 47, 3, 6).jpeg({ quality: 80 })],
    ['progressive JPEG', 'jpeg', personal(64, 48, 3, 3).jpeg({ progressive: true })],
    [
      'JPEG with restarts and 4:4:4',
      'jpeg',
      personal(64, 48, 3).jpeg({ chromaSubsampling: '4:4:4', trellisQuantisation: true }),
    ],
    ['grey JPEG', 'jpeg', personal(33, 21, 3, 8).greyscale().jpeg()],
    ['CMYK JPEG', 'jpeg', personal(32, 32, 3).toColourspace('cmyk').withIccProfile('cmyk').jpeg()],
    ['PNG', 'png', personal(53, 31, 3, 6).png()],
    ['PNG with alpha, interlaced', 'png', personal(40, 30, 4, 5).png({ progressive: true })],
    ['PNG with a palette', 'png', personal(40, 30, 4).png({ palette: true, colours: 16 })],
    ['16-bit PNG', 'png', personal(40, 30, 3).toColourspace('rgb16').png()],
    ['lossy WebP', 'webp', personal(61, 47, 3, 6).webp({ quality: 70 })],
    ['lossless WebP', 'webp', personal(61, 47, 3, 7).webp({ lossless: true })],
    ['lossy WebP with alpha', 'webp', personal(40, 30, 4).webp({ quality: 60, alphaQuality: 50 })],
    ['animated WebP', 'webp', animation.webp({ lossless: true, loop: 0, delay: [100, 100, 100] })],
    ['bare WebP', 'webp', sharp(pixels(20, 20, 3), { raw: { width: 20, height: 20, channels: 3 } }).webp()],
    ['bare JPEG', 'jpeg', sharp(pixels(20, 20, 3), { raw: { width: 20, height: 20, channels: 3 } }).jpeg()],
  ];
  return Promise.all(made.map(async ([name, format, image]) => ({ name, format, bytes: await image.toBuffer() })));
}
