import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FrameLimit } from '../../../local/runtime/frame-limit.ts';

/** A masked client frame, as RFC 6455 lays it out. */
function frame(payloadBytes: number): Buffer {
  const mask = Buffer.from([1, 2, 3, 4]);
  const payload = Buffer.alloc(payloadBytes, 0x81);
  if (payloadBytes < 126) return Buffer.concat([Buffer.from([0x81, 0x80 | payloadBytes]), mask, payload]);
  if (payloadBytes < 65_536) {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(payloadBytes);
    return Buffer.concat([Buffer.from([0x81, 0xfe]), length, mask, payload]);
  }
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(payloadBytes));
  return Buffer.concat([Buffer.from([0x81, 0xff]), length, mask, payload]);
}

function feed(bytes: Buffer, cuts: readonly number[], limitBytes: number): boolean {
  const limit = new FrameLimit(limitBytes);
  const edges = [0, ...cuts.map((cut) => cut % bytes.length).toSorted((a, b) => a - b), bytes.length];
  return edges.slice(1).some((end, index) => limit.exceededBy(bytes.subarray(edges[index], end)));
}

it('notices one frame over the limit, wherever the stream is cut', () => {
  const sizes = fc.array(fc.constantFrom(0, 1, 125, 126, 300, 1000), { minLength: 1, maxLength: 8 });
  const cuts = fc.array(fc.nat(), { maxLength: 12 });
  fc.assert(
    fc.property(sizes, cuts, (lengths, where) => {
      const bytes = Buffer.concat(lengths.map(frame));
      expect(feed(bytes, where, 999)).toBe(lengths.includes(1000));
      expect(feed(bytes, where, 1000)).toBe(false);
    }),
  );
});

it('reads 64-bit lengths', () => {
  expect(feed(frame(70_000), [3], 69_999)).toBe(true);
  expect(feed(frame(70_000), [3], 70_000)).toBe(false);
});
