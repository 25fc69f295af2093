import { bytesOf, joinBytes, viewOf } from './byte-text.ts';
import { exifOfOrientation } from './exif-orientation.ts';
import {
  ANIMATION_FRAME_HEADER_BYTES,
  readWebpChunks,
  VP8X_ALPHA,
  VP8X_ANIMATION,
  VP8X_EXIF,
  VP8X_ICC,
  webpChunkData,
  type WebpChunk,
  type WebpStructure,
} from './picture-webp.ts';

/** What a still picture, or a frame, is made of. */
const PIXELS = new Set(['ALPH', 'VP8 ', 'VP8L']);

/** Drops Exif, XMP and unknown chunks, also within frames; writes the orientation anew and corrects flags and length. */
export function stripWebp(bytes: Uint8Array, structure: WebpStructure): Uint8Array<ArrayBuffer> {
  const { chunks, orientation } = structure;
  const isExtended = chunks[0]?.type === 'VP8X';
  const profile = isExtended ? chunks.find((chunk) => chunk.type === 'ICCP') : undefined;
  const pieces: Uint8Array[] = [];
  for (const [index, chunk] of chunks.entries()) {
    if (PIXELS.has(chunk.type)) pieces.push(chunkOf(chunk.type, webpChunkData(bytes, chunk)));
    if (!isExtended) continue;
    if (index === 0) pieces.push(extendedHeader(bytes, chunk, profile !== undefined, orientation !== undefined));
    if (chunk === profile || chunk.type === 'ANIM') pieces.push(chunkOf(chunk.type, webpChunkData(bytes, chunk)));
    if (chunk.type === 'ANMF') pieces.push(chunkOf('ANMF', strippedFrame(webpChunkData(bytes, chunk))));
  }
  if (orientation !== undefined) pieces.push(chunkOf('EXIF', exifOfOrientation(orientation)));
  return riffOf(joinBytes(pieces));
}

function extendedHeader(bytes: Uint8Array, chunk: WebpChunk, hasProfile: boolean, hasExif: boolean): Uint8Array {
  const data = new Uint8Array(webpChunkData(bytes, chunk)); // a copy: `slice` of a Buffer would be a view
  const kept = (data[0] ?? 0) & (VP8X_ALPHA | VP8X_ANIMATION);
  data[0] = kept | (hasProfile ? VP8X_ICC : 0) | (hasExif ? VP8X_EXIF : 0);
  return chunkOf('VP8X', data);
}

function strippedFrame(frame: Uint8Array): Uint8Array {
  const inner = readWebpChunks(frame, ANIMATION_FRAME_HEADER_BYTES, frame.length);
  if ('kind' in inner) throw new TypeError(`Only an inspected picture can be stripped: ${inner.detail}`);
  const pixels = inner.filter((chunk) => PIXELS.has(chunk.type));
  return joinBytes([
    frame.subarray(0, ANIMATION_FRAME_HEADER_BYTES),
    ...pixels.map((chunk) => chunkOf(chunk.type, webpChunkData(frame, chunk))),
  ]);
}

/** A chunk with its padding: chunks begin at even offsets. */
function chunkOf(type: string, data: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(8 + data.length + (data.length % 2));
  chunk.set(bytesOf(type));
  viewOf(chunk).setUint32(4, data.length, true);
  chunk.set(data, 8);
  return chunk;
}

function riffOf(chunks: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(12);
  head.set(bytesOf('RIFF'));
  viewOf(head).setUint32(4, 4 + chunks.length, true);
  head.set(bytesOf('WEBP'), 8);
  return joinBytes([head, chunks]);
}
