import { hasTextAt, textAt } from './byte-text.ts';
import type { Orientation } from './exif-orientation.ts';
import { walkJpeg, type JpegStructure } from './picture-jpeg.ts';
import { walkPng, type PngStructure } from './picture-png.ts';
import { refusePicture, type PictureRefusal } from './picture-refusal.ts';
import { walkWebp, type WebpStructure } from './picture-webp.ts';

export type PictureFormat = 'jpeg' | 'png' | 'webp';

export type PictureStructure = JpegStructure | PngStructure | WebpStructure;

export type PictureLimits = {
  readonly maxBytes: number;
  /** Pixels as declared, over all frames of an animation. */
  readonly maxPixels: number;
};

export type Picture = {
  readonly kind: 'picture';
  readonly format: PictureFormat;
  readonly contentType: `image/${PictureFormat}`;
  /** In pixels, as stored: an orientation of 5 to 8 shows them swapped. */
  readonly width: number;
  readonly height: number;
  readonly orientation?: Orientation;
  /** 1, or the number of frames of an animation. */
  readonly frames: number;
  /**
   * Bytes after the picture's own end: a phone's motion clip or gain map, the rest of a cropped screenshot, an archive
   * that makes the file two things at once. `stripLocation` cuts them off, so that what is stored is the picture alone.
   */
  readonly trailingBytes: number;
};

/**
 * Says what the bytes are, from the bytes alone: neither a file's name nor its declared type is asked. The whole
 * structure is walked, nothing is decoded, in time linear in the bytes. Never throws.
 */
export function inspectPicture(bytes: Uint8Array, limits: PictureLimits): Picture | PictureRefusal {
  if (bytes.length === 0) return refusePicture('image_empty', 'The picture is empty.');
  if (bytes.length > limits.maxBytes) {
    return refusePicture(
      'image_too_large',
      `The picture has ${bytes.length} bytes; at most ${limits.maxBytes} are taken.`,
    );
  }
  const format = formatOf(bytes);
  if (format === undefined) return refuseFormat(bytes);
  const structure = walkPicture(bytes, format, limits.maxPixels);
  if (structure.kind === 'refused') return structure;
  return {
    kind: 'picture',
    format,
    contentType: `image/${format}`,
    width: structure.width,
    height: structure.height,
    ...(structure.orientation === undefined ? {} : { orientation: structure.orientation }),
    frames: structure.frames,
    trailingBytes: bytes.length - structure.end,
  };
}

const WALKS: {
  readonly [format in PictureFormat]: (bytes: Uint8Array, maxPixels: number) => PictureStructure | PictureRefusal;
} = { jpeg: walkJpeg, png: walkPng, webp: walkWebp };

/** The structure of bytes that begin as this format does. */
export function walkPicture(
  bytes: Uint8Array,
  format: PictureFormat,
  maxPixels: number,
): PictureStructure | PictureRefusal {
  return WALKS[format](bytes, maxPixels);
}

/** The format by its first bytes, before anything else about it is known. */
export function formatOf(bytes: Uint8Array): PictureFormat | undefined {
  if (hasTextAt(bytes, 0, '\xff\xd8\xff')) return 'jpeg';
  if (hasTextAt(bytes, 0, '\x89PNG\r\n\x1a\n')) return 'png';
  if (hasTextAt(bytes, 0, 'RIFF') && hasTextAt(bytes, 8, 'WEBP')) return 'webp';
  return undefined;
}

const FORMATS_NOT_TAKEN: readonly (readonly [name: string, at: number, signature: string])[] = [
  ['GIF', 0, 'GIF8'],
  ['BMP', 0, 'BM'],
  ['TIFF', 0, 'II*\0'],
  ['TIFF', 0, 'MM\0*'],
  ['JPEG XL', 0, '\xff\x0a'],
  ['JPEG XL', 4, 'JXL '],
  ['JPEG 2000', 4, 'jP  '],
  ['Photoshop', 0, '8BPS'],
];

const HEIC_BRANDS = ['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'hevm', 'hevs', 'mif1', 'msf1'];
const AVIF_BRANDS = ['avif', 'avis'];

function refuseFormat(bytes: Uint8Array): PictureRefusal {
  const name = nameOfFormat(bytes);
  if (name === undefined) {
    return refusePicture('image_unrecognized', 'The bytes are no picture that is known. JPEG, PNG and WebP are taken.');
  }
  return refusePicture('image_unsupported', `The picture is ${name}. JPEG, PNG and WebP are taken: convert it first.`);
}

function nameOfFormat(bytes: Uint8Array): string | undefined {
  if (hasTextAt(bytes, 4, 'ftyp')) return nameOfBrands(bytes);
  if (isSvg(textAt(bytes, 0, 1024))) return 'SVG';
  return FORMATS_NOT_TAKEN.find(([, at, signature]) => hasTextAt(bytes, at, signature))?.[0];
}

function isSvg(text: string): boolean {
  return text.trimStart().startsWith('<') && text.includes('<svg') && !/<html/i.test(text);
}

/** ISO base media files name their kinds in the `ftyp` box: the major brand, then the compatible ones. */
function nameOfBrands(bytes: Uint8Array): string | undefined {
  const brands: string[] = [];
  for (let at = 8; at < 64; at += 4) brands.push(textAt(bytes, at, 4));
  if (brands.some((brand) => AVIF_BRANDS.includes(brand))) return 'AVIF';
  if (brands.some((brand) => HEIC_BRANDS.includes(brand))) return 'HEIC';
  return undefined;
}
