import { bytesOf, joinBytes, viewOf } from './byte-text.ts';
import { crc32 } from './crc32.ts';
import { exifOfOrientation } from './exif-orientation.ts';
import { PNG_SIGNATURE_BYTES, type PngStructure } from './picture-png.ts';

/** What a PNG is shown by: its pixels, palette and transparency, colour space, density, and its animation. */
const KEPT = new Set(
  'IHDR PLTE IDAT IEND tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST pHYs acTL fcTL fdAT'.split(' '),
);

/** Drops text, times, Exif and private chunks; writes the orientation anew, before the pixels. */
export function stripPng(bytes: Uint8Array, structure: PngStructure): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array[] = [bytes.subarray(0, PNG_SIGNATURE_BYTES)];
  for (const chunk of structure.chunks) {
    if (!KEPT.has(chunk.type)) continue;
    pieces.push(bytes.subarray(chunk.start, chunk.end));
    if (chunk.type === 'IHDR' && structure.orientation !== undefined) {
      pieces.push(chunkOf('eXIf', exifOfOrientation(structure.orientation)));
    }
  }
  return joinBytes(pieces);
}

function chunkOf(type: string, data: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(12 + data.length);
  const view = viewOf(chunk);
  view.setUint32(0, data.length);
  chunk.set(bytesOf(type), 4);
  chunk.set(data, 8);
  view.setUint32(8 + data.length, crc32(chunk, 4, 8 + data.length));
  return chunk;
}
