import { crc32, deflateSync } from 'node:zlib';

/** Hand-made pieces of pictures, for what no encoder writes. */
export function jpegSegment(marker: number, payload: string | Uint8Array): Buffer {
  const data = Buffer.from(payload as string, 'latin1');
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
}

/** Puts segments right behind the start marker. */
export function withSegments(jpeg: Uint8Array, ...segments: readonly Buffer[]): Buffer {
  return Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)]);
}

export function pngChunk(type: string, payload: string | Uint8Array): Buffer {
  const data = Buffer.from(payload as string, 'latin1');
  const chunk = Buffer.alloc(12 + data.length);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, 'latin1');
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length);
  return chunk;
}

export const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

export function pngHeader(width: number, height: number, depth = 8, colourType = 0, interlace = 0): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  data.set([depth, colourType, 0, 0, interlace], 8);
  return pngChunk('IHDR', data);
}

export function pngOf(...chunks: readonly Buffer[]): Buffer {
  return Buffer.concat([PNG_SIGNATURE, ...chunks]);
}

/** Puts chunks right behind the header. */
export function withChunks(png: Uint8Array, ...chunks: readonly Buffer[]): Buffer {
  return Buffer.concat([png.subarray(0, 33), ...chunks, png.subarray(33)]);
}

export function greyData(width: number, height: number, shade: number): Buffer {
  return deflateSync(Buffer.alloc((width + 1) * height, Buffer.concat([Buffer.from([0]), Buffer.alloc(width, shade)])));
}

function frameControl(sequence: number, width: number, height: number): Buffer {
  const data = Buffer.alloc(26);
  data.writeUInt32BE(sequence, 0);
  data.writeUInt32BE(width, 4);
  data.writeUInt32BE(height, 8);
  data.writeUInt16BE(1, 20);
  data.writeUInt16BE(10, 22);
  return pngChunk('fcTL', data);
}

/** An animated PNG of two grey frames. */
export function animatedPng(width: number, height: number): Buffer {
  return pngOf(
    pngHeader(width, height),
    pngChunk('acTL', Buffer.from([0, 0, 0, 2, 0, 0, 0, 0])),
    frameControl(0, width, height),
    pngChunk('IDAT', greyData(width, height, 40)),
    frameControl(1, width, height),
    pngChunk('fdAT', Buffer.concat([Buffer.from([0, 0, 0, 2]), greyData(width, height, 200)])),
    pngChunk('IEND', ''),
  );
}

export function riffChunk(type: string, payload: string | Uint8Array): Buffer {
  const data = Buffer.from(payload as string, 'latin1');
  const chunk = Buffer.alloc(8 + data.length + (data.length % 2));
  chunk.write(type, 0, 'latin1');
  chunk.writeUInt32LE(data.length, 4);
  data.copy(chunk, 8);
  return chunk;
}

export function webpOf(...chunks: readonly Buffer[]): Buffer {
  const body = Buffer.concat(chunks);
  const head = Buffer.from('RIFF\0\0\0\0WEBP', 'latin1');
  head.writeUInt32LE(body.length + 4, 4);
  return Buffer.concat([head, body]);
}

export function extendedHeader(flags: number, width: number, height: number): Buffer {
  const data = Buffer.alloc(10);
  data[0] = flags;
  data.writeUIntLE(width - 1, 4, 3);
  data.writeUIntLE(height - 1, 7, 3);
  return riffChunk('VP8X', data);
}
