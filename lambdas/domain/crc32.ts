const TABLE = Uint32Array.from({ length: 256 }, (_, value) => {
  let remainder = value;
  for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ 0xed_b8_83_20 : remainder >>> 1;
  return remainder;
});

/** CRC-32 as in ISO 3309, which PNG uses: its value over `bytes` from `start` up to, not including, `end`. */
export function crc32(bytes: Uint8Array, start: number, end: number): number {
  let remainder = 0xff_ff_ff_ff;
  for (let at = start; at < end; at++) {
    remainder = (TABLE[(remainder ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (remainder >>> 8);
  }
  return (remainder ^ 0xff_ff_ff_ff) >>> 0;
}
