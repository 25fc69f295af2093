import { textAt, viewOf } from './byte-text.ts';
import { readOrientation, type Orientation } from './exif-orientation.ts';
import { brokenPicture, refuseDimensions, refusePicture, type PictureRefusal } from './picture-refusal.ts';

export const RIFF_HEADER_BYTES = 12;
export const ANIMATION_FRAME_HEADER_BYTES = 16;
const CHUNK_HEADER_BYTES = 8;
const MAX_CHUNKS = 100_000;

export const VP8X_ALPHA = 0x10;
export const VP8X_ANIMATION = 0x02;
export const VP8X_EXIF = 0x08;
export const VP8X_ICC = 0x20;

/** One chunk, from its name to the end of its data; the padding byte after odd data is not in it. */
export type WebpChunk = { readonly type: string; readonly start: number; readonly end: number };

export type WebpStructure = {
  readonly kind: 'webp';
  readonly width: number;
  readonly height: number;
  /** 1, or the number of frames of an animation. */
  readonly frames: number;
  readonly orientation: Orientation | undefined;
  readonly chunks: readonly WebpChunk[];
  /** Where the picture ends by its RIFF length. What follows is not the picture. */
  readonly end: number;
};

type Size = { readonly width: number; readonly height: number };
type Canvas = Size & { readonly flags: number };

/** Walks the RIFF chunks of a WebP (RFC 9649), and those of its animation frames, without decoding. */
export function walkWebp(bytes: Uint8Array, maxPixels: number): WebpStructure | PictureRefusal {
  if (bytes.length < RIFF_HEADER_BYTES + CHUNK_HEADER_BYTES)
    return brokenPicture('The WebP was cut off in its header.');
  const end = viewOf(bytes).getUint32(4, true) + CHUNK_HEADER_BYTES;
  if (end > bytes.length) return brokenPicture('The WebP is shorter than it declares: it was cut off.');
  const chunks = readWebpChunks(bytes, RIFF_HEADER_BYTES, end);
  if ('kind' in chunks) return chunks;

  const [first] = chunks;
  if (first === undefined) return brokenPicture('The WebP is empty.');
  if (first.type !== 'VP8X') {
    const size = readImage(bytes, first);
    if ('kind' in size) return size;
    const refusal = refuseDimensions(size.width, size.height, 1, maxPixels);
    return refusal ?? { kind: 'webp', ...size, frames: 1, orientation: undefined, chunks, end };
  }

  const canvas = readCanvas(bytes, first);
  if ('kind' in canvas) return canvas;
  const { width, height } = canvas;
  const animated = (canvas.flags & VP8X_ANIMATION) !== 0;
  const frames = animated ? chunks.filter((chunk) => chunk.type === 'ANMF').length : 1;
  const refusal =
    refuseDimensions(width, height, Math.max(1, frames), maxPixels) ??
    (animated ? refuseAnimation(bytes, chunks, canvas) : refuseImage(bytes, chunks, canvas));
  if (refusal !== undefined) return refusal;
  return { kind: 'webp', width, height, frames, orientation: orientationOf(bytes, chunks, canvas), chunks, end };
}

/** The chunks between two offsets; `end` is within the bytes. */
export function readWebpChunks(bytes: Uint8Array, start: number, end: number): readonly WebpChunk[] | PictureRefusal {
  const view = viewOf(bytes);
  const chunks: WebpChunk[] = [];
  let at = start;
  while (at < end) {
    if (at + CHUNK_HEADER_BYTES > end) return brokenPicture('The WebP ends within the header of a chunk.');
    const length = view.getUint32(at + 4, true);
    const chunkEnd = at + CHUNK_HEADER_BYTES + length;
    if (chunkEnd > end) return brokenPicture('A WebP chunk is longer than what holds it.');
    if (chunks.push({ type: textAt(bytes, at, 4), start: at, end: chunkEnd }) > MAX_CHUNKS) {
      return brokenPicture(`The WebP has more than ${MAX_CHUNKS} chunks.`);
    }
    at = chunkEnd + (length % 2);
  }
  return chunks;
}

export function webpChunkData(bytes: Uint8Array, chunk: WebpChunk): Uint8Array {
  return bytes.subarray(chunk.start + CHUNK_HEADER_BYTES, chunk.end);
}

function readCanvas(bytes: Uint8Array, chunk: WebpChunk): Canvas | PictureRefusal {
  const data = webpChunkData(bytes, chunk);
  if (data.length !== 10) return brokenPicture('The WebP extended header has a wrong length.');
  return { flags: data[0] ?? 0, width: read24(data, 4) + 1, height: read24(data, 7) + 1 };
}

function read24(data: Uint8Array, at: number): number {
  return (data[at] ?? 0) | ((data[at + 1] ?? 0) << 8) | ((data[at + 2] ?? 0) << 16);
}

function isImage(chunk: WebpChunk): boolean {
  return chunk.type === 'VP8 ' || chunk.type === 'VP8L';
}

function readImage(bytes: Uint8Array, chunk: WebpChunk): Size | PictureRefusal {
  const data = webpChunkData(bytes, chunk);
  switch (chunk.type) {
    case 'VP8 ':
      return readLossy(data);
    case 'VP8L':
      return readLossless(data);
    default:
      return brokenPicture('The WebP does not begin with a picture.');
  }
}

/** RFC 6386, 9.1: a key frame that is shown, its first partition within the data, the start code, 14-bit dimensions. */
function readLossy(data: Uint8Array): Size | PictureRefusal {
  const tag = read24(data, 0);
  const isShownKeyFrame = (tag & 1) === 0 && ((tag >> 4) & 1) === 1 && ((tag >> 1) & 7) <= 3;
  const hasStartCode = data[3] === 0x9d && data[4] === 0x01 && data[5] === 0x2a;
  if (data.length <= 10 || !isShownKeyFrame || !hasStartCode)
    return brokenPicture('The WebP picture has a broken header.');
  if (10 + (tag >> 5) > data.length) return brokenPicture('The WebP picture was cut off in its first partition.');
  const view = viewOf(data);
  return { width: view.getUint16(6, true) & 0x3f_ff, height: view.getUint16(8, true) & 0x3f_ff };
}

/** RFC 9649, 3.4: the signature byte, two 14-bit dimensions less one, an alpha hint, a version of 0. */
function readLossless(data: Uint8Array): Size | PictureRefusal {
  if (data.length <= 5 || data[0] !== 0x2f) return brokenPicture('The WebP picture has a broken header.');
  const bits = viewOf(data).getUint32(1, true);
  if (bits >>> 29 !== 0) return refusePicture('image_unsupported', 'The WebP is of a version that is not taken.');
  return { width: (bits & 0x3f_ff) + 1, height: ((bits >>> 14) & 0x3f_ff) + 1 };
}

function refuseImage(bytes: Uint8Array, chunks: readonly WebpChunk[], size: Size): PictureRefusal | undefined {
  const [image, ...others] = chunks.filter(isImage);
  if (image === undefined || others.length > 0)
    return brokenPicture('The WebP does not hold exactly one picture per frame.');
  const read = readImage(bytes, image);
  if ('kind' in read) return read;
  if (read.width !== size.width || read.height !== size.height) {
    return brokenPicture('The WebP picture has other dimensions than its header says.');
  }
  return undefined;
}

function refuseAnimation(bytes: Uint8Array, chunks: readonly WebpChunk[], canvas: Canvas): PictureRefusal | undefined {
  const frames = chunks.filter((chunk) => chunk.type === 'ANMF');
  if (frames.length === 0 || !chunks.some((chunk) => chunk.type === 'ANIM')) {
    return brokenPicture('The WebP declares an animation and has none.');
  }
  for (const frame of frames) {
    const data = webpChunkData(bytes, frame);
    if (data.length < ANIMATION_FRAME_HEADER_BYTES) return brokenPicture('A WebP frame was cut off in its header.');
    const size = { width: read24(data, 6) + 1, height: read24(data, 9) + 1 };
    if (read24(data, 0) * 2 + size.width > canvas.width || read24(data, 3) * 2 + size.height > canvas.height) {
      return brokenPicture('A WebP frame lies outside of the picture.');
    }
    const inner = readWebpChunks(data, ANIMATION_FRAME_HEADER_BYTES, data.length);
    if ('kind' in inner) return inner;
    const refusal = refuseImage(data, inner, size);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function orientationOf(bytes: Uint8Array, chunks: readonly WebpChunk[], canvas: Canvas): Orientation | undefined {
  if ((canvas.flags & VP8X_EXIF) === 0) return undefined;
  const exif = chunks.find((chunk) => chunk.type === 'EXIF');
  return exif === undefined ? undefined : readOrientation(webpChunkData(bytes, exif));
}
