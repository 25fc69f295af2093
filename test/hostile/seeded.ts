/** Mulberry32: the same numbers for the same seed, so that a failing case can be run again. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Mutation = (bytes: Buffer, other: Buffer, random: (below: number) => number) => Buffer;

const INTERESTING = [0, 1, 0x7f, 0x80, 0xff, 0xd8, 0xd9, 0xda, 0xe1, 0x0d, 0x0a, 0x2d];

const MUTATIONS: readonly Mutation[] = [
  function truncate(bytes, _, random) {
    return bytes.subarray(0, random(bytes.length + 1));
  },
  function flip(bytes, _, random) {
    const at = random(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
    return bytes;
  },
  function poke(bytes, _, random) {
    bytes[random(bytes.length)] = INTERESTING[random(INTERESTING.length)] ?? 0;
    return bytes;
  },
  function length(bytes, _, random) {
    if (bytes.length < 8) return bytes;
    const at = random(bytes.length - 4);
    const value = [0, 1, 2, 0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_ff, bytes.length, random(70_000)][random(8)] ?? 0;
    const kind = random(3);
    if (kind === 0) bytes.writeUInt32BE(value, at);
    else if (kind === 1) bytes.writeUInt32LE(value, at);
    else bytes.writeUInt16BE(value & 0xff_ff, at);
    return bytes;
  },
  function splice(bytes, other, random) {
    const [from, to] = [random(other.length), random(other.length)].toSorted((a, b) => a - b);
    const at = random(bytes.length);
    return Buffer.concat([
      bytes.subarray(0, at),
      other.subarray(from, to),
      bytes.subarray(at + random(bytes.length - at)),
    ]);
  },
  function remove(bytes, _, random) {
    const at = random(bytes.length);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random(64))]);
  },
  function repeat(bytes, _, random) {
    const at = random(bytes.length);
    const end = at + 1 + random(256);
    return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at, end), bytes.subarray(end)]);
  },
  function fill(bytes, _, random) {
    const at = random(bytes.length);
    return bytes.fill(INTERESTING[random(INTERESTING.length)] ?? 0, at, Math.min(bytes.length, at + random(64)));
  },
];

/** A copy of the bytes with one to four seeded wounds; half of them near the head, where the structure is. */
export function wounded(bytes: Uint8Array, other: Uint8Array, random: (below: number) => number): Buffer {
  let wound = Buffer.from(bytes);
  for (let count = 1 + random(4); count > 0 && wound.length > 1; count--) {
    const mutate = MUTATIONS[random(MUTATIONS.length)];
    if (mutate === undefined) continue;
    const headBytes = Math.min(wound.length, 64 + random(512));
    wound =
      random(2) === 0
        ? Buffer.from(mutate(wound, Buffer.from(other), random))
        : Buffer.concat([
            mutate(Buffer.from(wound.subarray(0, headBytes)), Buffer.from(other), random),
            wound.subarray(headBytes),
          ]);
  }
  return wound;
}
