import { hasTextAt, viewOf } from './byte-text.ts';

const ORIENTATION_TAG = 0x0112;
const SHORT = 3;
const HEADER_BYTES = 8;
const ENTRY_BYTES = 12;
const EXIF_PREFIX = 'Exif\0\0';

/**
 * How to turn the stored pixels before showing them: 1 (as stored) to 8, as in Exif 2.32 tag 0x0112. 5 to 8 swap
 * width and height.
 */
export type Orientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/**
 * Reads the orientation from an Exif block, with or without its `Exif` prefix. Anything that is not a well-formed
 * orientation is none: the rest of the block is dropped, so the rest may be as broken as it likes.
 */
export function readOrientation(exif: Uint8Array): Orientation | undefined {
  const tiff = hasTextAt(exif, 0, EXIF_PREFIX) ? exif.subarray(EXIF_PREFIX.length) : exif;
  if (tiff.length < HEADER_BYTES) return undefined;
  const littleEndian = hasTextAt(tiff, 0, 'II*\0');
  if (!littleEndian && !hasTextAt(tiff, 0, 'MM\0*')) return undefined;

  const view = viewOf(tiff);
  const directory = view.getUint32(4, littleEndian);
  if (directory + 2 > tiff.length) return undefined;
  const entries = view.getUint16(directory, littleEndian);
  for (let index = 0; index < entries; index++) {
    const entry = directory + 2 + index * ENTRY_BYTES;
    if (entry + ENTRY_BYTES > tiff.length) return undefined;
    if (view.getUint16(entry, littleEndian) !== ORIENTATION_TAG) continue;
    const isOneShort =
      view.getUint16(entry + 2, littleEndian) === SHORT && view.getUint32(entry + 4, littleEndian) === 1;
    return isOneShort ? asOrientation(view.getUint16(entry + 8, littleEndian)) : undefined;
  }
  return undefined;
}

/** The smallest Exif block (TIFF, no prefix) that says the orientation and nothing else. */
export function exifOfOrientation(orientation: Orientation): Uint8Array {
  const tiff = new Uint8Array(HEADER_BYTES + 2 + ENTRY_BYTES + 4);
  const view = viewOf(tiff);
  tiff.set([0x4d, 0x4d, 0x00, 0x2a]); // "MM*": big-endian
  view.setUint32(4, HEADER_BYTES);
  view.setUint16(8, 1);
  view.setUint16(10, ORIENTATION_TAG);
  view.setUint16(12, SHORT);
  view.setUint32(14, 1);
  view.setUint16(18, orientation);
  return tiff;
}

function asOrientation(value: number): Orientation | undefined {
  switch (value) {
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
      return value;
    default:
      return undefined;
  }
}
