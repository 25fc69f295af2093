import { crc32 } from './crc32.ts';
import { textAt, viewOf } from './byte-text.ts';
import { readOrientation, type Orientation } from './exif-orientation.ts';
import { brokenPicture, refuseDimensions, refusePicture, type PictureRefusal } from './picture-refusal.ts';

export const PNG_SIGNATURE_BYTES = 8;
const IHDR_BYTES = 13;
const FRAME_CONTROL_BYTES = 26;
const MAX_CHUNKS = 100_000;

/** Deflate packs at most 258 bytes into 2 bits (RFC 1951): less data than this can't hold the declared pixels. */
const DEFLATE_BEST_RATIO = 1032;

/** One chunk, from its length field to the end of its CRC. */
export type PngChunk = { readonly type: string; readonly start: number; readonly end: number };

export type PngStructure = {
  readonly kind: 'png';
  readonly width: number;
  readonly height: number;
  /** 1, or the number of frames of an animation (APNG). */
  readonly frames: number;
  readonly orientation: Orientation | undefined;
  readonly chunks: readonly PngChunk[];
  /** Where the picture ends: after IEND. What follows is not the picture. */
  readonly end: number;
};

type Header = {
  readonly width: number;
  readonly height: number;
  readonly bitsPerPixel: number;
  readonly palette: boolean;
};

const BIT_DEPTHS = new Map<number, { readonly samples: number; readonly depths: readonly number[] }>([
  [0, { samples: 1, depths: [1, 2, 4, 8, 16] }],
  [2, { samples: 3, depths: [8, 16] }],
  [3, { samples: 1, depths: [1, 2, 4, 8] }],
  [4, { samples: 2, depths: [8, 16] }],
  [6, { samples: 4, depths: [8, 16] }],
]);

/** Walks every chunk and checks every CRC (PNG, third edition), without inflating. */
export function walkPng(bytes: Uint8Array, maxPixels: number): PngStructure | PictureRefusal {
  const chunks = readChunks(bytes);
  if ('kind' in chunks) return chunks;
  const [first] = chunks;
  if (first?.type === 'CgBI') {
    return refusePicture('image_unsupported', "This is Apple's CgBI variant of PNG, which only its own devices read.");
  }
  if (first?.type !== 'IHDR') return brokenPicture('The PNG does not begin with its header.');
  const header = readHeader(dataOf(bytes, first));
  if ('kind' in header) return header;

  const frames = Math.max(1, countFrames(chunks));
  const refusal =
    refuseDimensions(header.width, header.height, frames, maxPixels) ??
    refuseOrder(chunks, header) ??
    refuseFrames(bytes, chunks, header) ??
    refuseData(bytes, chunks, header);
  if (refusal !== undefined) return refusal;

  const exif = chunks.find((chunk) => chunk.type === 'eXIf');
  return {
    kind: 'png',
    width: header.width,
    height: header.height,
    frames,
    orientation: exif === undefined ? undefined : readOrientation(dataOf(bytes, exif)),
    chunks,
    end: chunks.at(-1)?.end ?? bytes.length,
  };
}

function dataOf(bytes: Uint8Array, chunk: PngChunk): Uint8Array {
  return bytes.subarray(chunk.start + 8, chunk.end - 4);
}

function readChunks(bytes: Uint8Array): readonly PngChunk[] | PictureRefusal {
  const view = viewOf(bytes);
  const chunks: PngChunk[] = [];
  let start = PNG_SIGNATURE_BYTES;
  for (;;) {
    if (start + 12 > bytes.length) return brokenPicture('The PNG ends before its IEND chunk: it was cut off.');
    const length = view.getUint32(start);
    const type = textAt(bytes, start + 4, 4);
    const end = start + 12 + length;
    if (!/^[A-Za-z]{4}$/.test(type)) return brokenPicture('The PNG has a chunk with an impossible type.');
    if (end > bytes.length) return brokenPicture('The PNG ends within a chunk: it was cut off.');
    if (crc32(bytes, start + 4, end - 4) !== view.getUint32(end - 4)) {
      return brokenPicture('A PNG chunk does not match its checksum.');
    }
    if (chunks.push({ type, start, end }) > MAX_CHUNKS) {
      return brokenPicture(`The PNG has more than ${MAX_CHUNKS} chunks.`);
    }
    if (type === 'IEND') return length === 0 ? chunks : brokenPicture('The PNG end chunk is not empty.');
    start = end;
  }
}

function readHeader(data: Uint8Array): Header | PictureRefusal {
  if (data.length !== IHDR_BYTES) return brokenPicture('The PNG header has a wrong length.');
  const view = viewOf(data);
  const [width, height] = [view.getUint32(0), view.getUint32(4)];
  if (width > 0x7f_ff_ff_ff || height > 0x7f_ff_ff_ff) return brokenPicture('The PNG declares impossible dimensions.');
  const [depth = 0, colourType = 0, compression, filter, interlace = 0] = data.subarray(8);
  const kind = BIT_DEPTHS.get(colourType);
  if (kind === undefined || !kind.depths.includes(depth) || compression !== 0 || filter !== 0 || interlace > 1) {
    return brokenPicture('The PNG header has an impossible combination of colour type, depth and methods.');
  }
  return { width, height, bitsPerPixel: depth * kind.samples, palette: colourType === 3 };
}

/** Critical chunks a decoder must know, once each where it must be once, and all image data in one run. */
function refuseOrder(chunks: readonly PngChunk[], header: Header): PictureRefusal | undefined {
  let palettes = 0;
  let dataRuns = 0;
  for (const [index, { type }] of chunks.entries()) {
    switch (type) {
      case 'IHDR':
        if (index > 0) return brokenPicture('The PNG has more than one header.');
        break;
      case 'PLTE':
        if (++palettes > 1 || dataRuns > 0) return brokenPicture('The PNG has a misplaced palette.');
        break;
      case 'IDAT':
        if (chunks[index - 1]?.type !== 'IDAT') dataRuns++;
        break;
      case 'IEND':
        break;
      default:
        if (/^[A-Z]/.test(type))
          return refusePicture('image_unsupported', 'The PNG needs a chunk that is not in the standard.');
    }
  }
  if (dataRuns !== 1) return brokenPicture('The PNG does not have its image data in exactly one run of chunks.');
  if (header.palette && palettes === 0) return brokenPicture('The PNG needs a palette and has none.');
  return undefined;
}

function countFrames(chunks: readonly PngChunk[]): number {
  if (!chunks.some((chunk) => chunk.type === 'acTL')) return 0;
  return chunks.filter((chunk) => chunk.type === 'fcTL').length;
}

function refuseFrames(bytes: Uint8Array, chunks: readonly PngChunk[], header: Header): PictureRefusal | undefined {
  for (const chunk of chunks) {
    if (chunk.type !== 'fcTL') continue;
    const data = dataOf(bytes, chunk);
    if (data.length !== FRAME_CONTROL_BYTES) return brokenPicture('A PNG frame header has a wrong length.');
    const view = viewOf(data);
    const right = view.getUint32(4) + view.getUint32(12);
    const bottom = view.getUint32(8) + view.getUint32(16);
    if (right > header.width || bottom > header.height) {
      return brokenPicture('A PNG frame lies outside of the picture.');
    }
  }
  return undefined;
}

/** What can be told of the compressed data without inflating it: its zlib header, and that it can hold the pixels. */
function refuseData(bytes: Uint8Array, chunks: readonly PngChunk[], header: Header): PictureRefusal | undefined {
  const head: number[] = [];
  let dataBytes = 0;
  for (const chunk of chunks) {
    if (chunk.type !== 'IDAT') continue;
    const data = dataOf(bytes, chunk);
    dataBytes += data.length;
    if (head.length < 2) head.push(...data.subarray(0, 2 - head.length));
  }
  const [method = 0, flags = 0] = head;
  if (head.length < 2 || (method & 15) !== 8 || (method * 256 + flags) % 31 !== 0) {
    return brokenPicture('The PNG image data is not compressed as PNG requires.');
  }
  if ((header.width * header.height * header.bitsPerPixel) / 8 > dataBytes * DEFLATE_BEST_RATIO) {
    return brokenPicture('The PNG declares more pixels than its data can hold.');
  }
  return undefined;
}
