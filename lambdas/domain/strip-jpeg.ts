import { bytesOf, hasTextAt, joinBytes, viewOf } from './byte-text.ts';
import { exifOfOrientation, type Orientation } from './exif-orientation.ts';
import type { JpegSegment, JpegStructure } from './picture-jpeg.ts';

const SEGMENT_HEADER_BYTES = 4;
const JFIF_BYTES = 14;
const ADOBE_BYTES = 12;

const START = Uint8Array.of(0xff, 0xd8);
const END = Uint8Array.of(0xff, 0xd9);

/** Keeps frames, tables, scans, JFIF, ICC and Adobe's colour transform; writes the orientation anew. */
export function stripJpeg(bytes: Uint8Array, structure: JpegStructure): Uint8Array<ArrayBuffer> {
  const jfif: Uint8Array[] = [];
  const rest: Uint8Array[] = [];
  for (const segment of structure.segments) {
    if (segment.marker === 0xe0) {
      if (jfif.length === 0) jfif.push(...withoutThumbnail(bytes, segment));
    } else {
      rest.push(...kept(bytes, segment));
    }
  }
  // JFIF wants to be first; decoders look for Exif right behind it.
  return joinBytes([START, ...jfif, ...orientationSegment(structure.orientation), ...rest, END]);
}

function kept(bytes: Uint8Array, segment: JpegSegment): readonly Uint8Array[] {
  const payload = bytes.subarray(segment.start + SEGMENT_HEADER_BYTES, segment.end);
  switch (segment.marker) {
    case 0xe2: // APP2: ICC profiles, but also the index of further pictures (MPF)
      return hasTextAt(payload, 0, 'ICC_PROFILE\0') ? [bytes.subarray(segment.start, segment.end)] : [];
    case 0xee: // APP14: without Adobe's transform flag, CMYK and RGB pictures change colour
      return hasTextAt(payload, 0, 'Adobe') && payload.length >= ADOBE_BYTES
        ? [segmentOf(0xee, payload.subarray(0, ADOBE_BYTES))]
        : [];
    default:
      // Other application segments, reserved ones and comments carry no pixels.
      return segment.marker < 0xe0 ? [bytes.subarray(segment.start, segment.end)] : [];
  }
}

function withoutThumbnail(bytes: Uint8Array, segment: JpegSegment): readonly Uint8Array[] {
  // A copy: `slice` of a Buffer would be a view, and the picture that was handed in would change.
  const payload = new Uint8Array(bytes.subarray(segment.start + SEGMENT_HEADER_BYTES, segment.end)).subarray(
    0,
    JFIF_BYTES,
  );
  if (payload.length < JFIF_BYTES || !hasTextAt(payload, 0, 'JFIF\0')) return [];
  payload.fill(0, 12, 14); // the thumbnail's width and height
  return [segmentOf(0xe0, payload)];
}

function orientationSegment(orientation: Orientation | undefined): readonly Uint8Array[] {
  if (orientation === undefined) return [];
  return [segmentOf(0xe1, joinBytes([bytesOf('Exif\0\0'), exifOfOrientation(orientation)]))];
}

function segmentOf(marker: number, payload: Uint8Array): Uint8Array {
  const segment = new Uint8Array(SEGMENT_HEADER_BYTES + payload.length);
  segment.set([0xff, marker]);
  viewOf(segment).setUint16(2, payload.length + 2);
  segment.set(payload, SEGMENT_HEADER_BYTES);
  return segment;
}
