import { hasTextAt, viewOf } from './byte-text.ts';
import { readOrientation, type Orientation } from './exif-orientation.ts';
import { refuseTables } from './picture-jpeg-tables.ts';
import { brokenPicture, refuseDimensions, refusePicture, type PictureRefusal } from './picture-refusal.ts';

const EOI = 0xd9;
const SOS = 0xda;
const APP1 = 0xe1;
const TEM = 0x01;

/** Far above any encoder's scripts: each scan of a progressive picture costs the decoder a pass over all pixels. */
const MAX_SCANS = 200;
const MAX_SEGMENTS = 10_000;

/** One marker segment, from its 0xFF to its end; a scan's segment includes its entropy-coded data. */
export type JpegSegment = { readonly marker: number; readonly start: number; readonly end: number };

export type JpegStructure = {
  readonly kind: 'jpeg';
  readonly width: number;
  readonly height: number;
  readonly frames: 1;
  readonly orientation: Orientation | undefined;
  /** All segments between the start and the end marker, in order. */
  readonly segments: readonly JpegSegment[];
  /** Where the picture ends: after its end marker. What follows is not the picture. */
  readonly end: number;
};

type Frame = { readonly width: number; readonly height: number; readonly componentIds: readonly number[] };

/** What the walk has seen so far. */
type Walk = {
  readonly segments: JpegSegment[];
  frame: Frame | undefined;
  orientation: Orientation | undefined;
  scans: number;
};

const truncated = (): PictureRefusal => brokenPicture('The JPEG ends before its end marker: it was cut off.');

/** Walks the markers from the first to the end marker (ITU-T T.81, annex B), without decoding. */
export function walkJpeg(bytes: Uint8Array, maxPixels: number): JpegStructure | PictureRefusal {
  const walk: Walk = { segments: [], frame: undefined, orientation: undefined, scans: 0 };
  let at = 2;
  for (;;) {
    const start = markerStart(bytes, at);
    if (typeof start !== 'number') return start;
    const marker = bytes[start + 1] ?? 0;
    if (marker === EOI) return finish(walk, start + 2);
    if (marker === TEM) {
      at = start + 2;
      continue;
    }
    const end = takeSegment(walk, bytes, start, maxPixels);
    if (typeof end !== 'number') return end;
    if (walk.segments.push({ marker, start, end }) > MAX_SEGMENTS) {
      return brokenPicture(`The JPEG has more than ${MAX_SEGMENTS} segments.`);
    }
    at = end;
  }
}

function finish({ segments, frame, orientation, scans }: Walk, end: number): JpegStructure | PictureRefusal {
  if (frame === undefined || scans === 0) return brokenPicture('The JPEG has no frame or no scan: no picture in it.');
  return { kind: 'jpeg', width: frame.width, height: frame.height, frames: 1, orientation, segments, end };
}

/** Judges the segment whose marker is at `start`, notes what it says, and returns where it ends. */
function takeSegment(walk: Walk, bytes: Uint8Array, start: number, maxPixels: number): number | PictureRefusal {
  const marker = bytes[start + 1] ?? 0;
  if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd8)) {
    return brokenPicture('The JPEG has a marker where none may be.');
  }
  if (start + 4 > bytes.length) return truncated();
  const length = viewOf(bytes).getUint16(start + 2);
  const end = start + 2 + length;
  if (length < 2) return brokenPicture('A JPEG segment declares an impossible length.');
  if (end > bytes.length) return truncated();

  const payload = bytes.subarray(start + 4, end);
  if (isFrame(marker)) return takeFrame(walk, marker, payload, maxPixels) ?? end;
  if (marker === SOS) return takeScan(walk, bytes, payload, end);
  const refusal = refuseTables(marker, payload);
  if (refusal !== undefined) return refusal;
  if (marker === APP1 && walk.scans === 0 && hasTextAt(payload, 0, 'Exif\0\0')) {
    // The first block counts, as in browsers; later ones are dropped with everything else.
    walk.orientation ??= readOrientation(payload);
  }
  return end;
}

function takeFrame(walk: Walk, marker: number, payload: Uint8Array, maxPixels: number): PictureRefusal | undefined {
  if (walk.frame !== undefined) return brokenPicture('The JPEG has more than one frame.');
  const frame = readFrame(marker, payload);
  if ('kind' in frame) return frame;
  walk.frame = frame;
  return refuseDimensions(frame.width, frame.height, 1, maxPixels);
}

function takeScan(walk: Walk, bytes: Uint8Array, header: Uint8Array, dataStart: number): number | PictureRefusal {
  const refusal = refuseScan(header, walk.frame);
  if (refusal !== undefined) return refusal;
  const dataEnd = scanEnd(bytes, dataStart);
  if (dataEnd === undefined) return truncated();
  if (dataEnd === dataStart) return brokenPicture('A JPEG scan has no data.');
  if (++walk.scans > MAX_SCANS) return brokenPicture(`The JPEG has more than ${MAX_SCANS} scans.`);
  return dataEnd;
}

/** Frame headers (SOF0–SOF15, DHP, EXP): C4, C8 and CC in their range are tables. */
function isFrame(marker: number): boolean {
  if (marker === 0xde || marker === 0xdf) return true;
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

/** The position of the next marker's last 0xFF: a marker may be preceded by any number of them. */
function markerStart(bytes: Uint8Array, at: number): number | PictureRefusal {
  if (at >= bytes.length) return truncated();
  if (bytes[at] !== 0xff) return brokenPicture('The JPEG has bytes between its segments.');
  let start = at;
  while (bytes[start + 1] === 0xff) start++;
  return start + 1 < bytes.length ? start : truncated();
}

function readFrame(marker: number, payload: Uint8Array): Frame | PictureRefusal {
  if (marker > 0xc2) {
    return refusePicture('image_unsupported', 'Lossless, hierarchical and arithmetic-coded JPEGs are not taken.');
  }
  const count = payload[5] ?? 0;
  if (payload.length < 6 || payload.length !== 6 + 3 * count) {
    return brokenPicture('The JPEG frame header has a wrong length.');
  }
  if (payload[0] !== 8) return refusePicture('image_unsupported', 'Only JPEGs of 8 bits per sample are taken.');
  if (count !== 1 && count !== 3 && count !== 4) {
    return refusePicture('image_unsupported', 'Only JPEGs of 1, 3 or 4 colour components are taken.');
  }
  const componentIds: number[] = [];
  for (let at = 6; at < payload.length; at += 3) {
    const sampling = payload[at + 1] ?? 0;
    const [across, down] = [sampling >> 4, sampling & 15];
    if (across < 1 || across > 4 || down < 1 || down > 4 || (payload[at + 2] ?? 0) > 3) {
      return brokenPicture('The JPEG frame header has an impossible component.');
    }
    componentIds.push(payload[at] ?? 0);
  }
  const view = viewOf(payload);
  return { height: view.getUint16(1), width: view.getUint16(3), componentIds };
}

function refuseScan(payload: Uint8Array, frame: Frame | undefined): PictureRefusal | undefined {
  if (frame === undefined) return brokenPicture('The JPEG has a scan before its frame header.');
  const count = payload[0] ?? 0;
  if (count < 1 || count > frame.componentIds.length || payload.length !== 4 + 2 * count) {
    return brokenPicture('A JPEG scan header has a wrong length.');
  }
  for (let index = 0; index < count; index++) {
    if (!frame.componentIds.includes(payload[1 + 2 * index] ?? -1)) {
      return brokenPicture('A JPEG scan names a component that the frame does not have.');
    }
  }
  return undefined;
}

/** Where entropy-coded data ends: at the first marker that is neither a stuffed 0xFF00 nor a restart. */
function scanEnd(bytes: Uint8Array, start: number): number | undefined {
  for (let at = start; at + 1 < bytes.length; at++) {
    if (bytes[at] !== 0xff) continue;
    const next = bytes[at + 1] ?? 0;
    if (next === 0xff) continue;
    if (next !== 0 && (next < 0xd0 || next > 0xd7)) return at;
    at++;
  }
  return undefined;
}
