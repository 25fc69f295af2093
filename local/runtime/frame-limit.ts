/**
 * Follows the frames of a WebSocket's incoming bytes and tells when one is larger than allowed: API Gateway closes a
 * connection for a frame over 32 KB, however small the message's limit leaves room for it.
 * https://www.rfc-editor.org/rfc/rfc6455#section-5.2
 */
export class FrameLimit {
  readonly #limitBytes: number;
  #header = Buffer.alloc(0);
  #payloadLeft = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** True as soon as a frame's header announces too much. */
  exceededBy(chunk: Buffer): boolean {
    let rest = chunk;
    while (rest.length > 0) {
      const skipped = Math.min(this.#payloadLeft, rest.length);
      this.#payloadLeft -= skipped;
      rest = rest.subarray(skipped);
      if (rest.length === 0) return false;
      const before = this.#header.length;
      const header = Buffer.concat([this.#header, rest.subarray(0, longestHeader)]);
      const frame = readFrameHeader(header);
      if (frame === undefined) {
        this.#header = header;
        return false;
      }
      if (frame.payloadBytes > this.#limitBytes) return true;
      this.#header = Buffer.alloc(0);
      this.#payloadLeft = frame.payloadBytes;
      rest = rest.subarray(frame.headerBytes - before);
    }
    return false;
  }
}

const longestHeader = 14;

/** `undefined` while too few bytes of it are there. */
function readFrameHeader(bytes: Buffer): { headerBytes: number; payloadBytes: number } | undefined {
  const second = bytes[1];
  if (second === undefined) return undefined;
  const maskBytes = second & 0x80 ? 4 : 0;
  const short = second & 0x7f;
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
  const headerBytes = 2 + lengthBytes + maskBytes;
  if (bytes.length < headerBytes) return undefined;
  if (lengthBytes === 0) return { headerBytes, payloadBytes: short };
  return { headerBytes, payloadBytes: lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2)) };
}
