import { brokenPicture, type PictureRefusal } from './picture-refusal.ts';

const DHT = 0xc4;
const DQT = 0xdb;
const DRI = 0xdd;
const HUFFMAN_LENGTHS = 16;

/** Judges the tables that a JPEG's scans are decoded with, as far as they can be judged without decoding. */
export function refuseTables(marker: number, payload: Uint8Array): PictureRefusal | undefined {
  switch (marker) {
    case DHT:
      return areHuffmanTables(payload) ? undefined : brokenPicture('The JPEG has an impossible Huffman table.');
    case DQT:
      return areQuantizationTables(payload)
        ? undefined
        : brokenPicture('The JPEG has an impossible quantization table.');
    case DRI:
      return payload.length === 2 ? undefined : brokenPicture('The JPEG has an impossible restart interval.');
    default:
      return undefined;
  }
}

/** T.81, B.2.4.2: a class and an identifier, 16 counts of codes by length, then that many values. */
function areHuffmanTables(payload: Uint8Array): boolean {
  let at = 0;
  while (at < payload.length) {
    const head = payload[at] ?? 0xff;
    if (head >> 4 > 1 || (head & 15) > 3) return false;
    let values = 0;
    let free = 1;
    for (let length = 1; length <= HUFFMAN_LENGTHS; length++) {
      const count = payload[at + length] ?? 0;
      values += count;
      // Each bit doubles the codes that are free; a table can't use more than there are.
      free = free * 2 - count;
      if (free < 0) return false;
    }
    at += 1 + HUFFMAN_LENGTHS + values;
    if (values > 256) return false;
  }
  return at === payload.length && at > 0;
}

/** T.81, B.2.4.1: a precision and an identifier, then 64 values of one byte or two. */
function areQuantizationTables(payload: Uint8Array): boolean {
  let at = 0;
  while (at < payload.length) {
    const head = payload[at] ?? 0xff;
    if (head >> 4 > 1 || (head & 15) > 3) return false;
    at += 1 + 64 * (1 + (head >> 4));
  }
  return at === payload.length && at > 0;
}
