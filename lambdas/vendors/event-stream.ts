/** Longest line of a stream, and longest event, in characters: a vendor that never ends a line must not fill memory. */
const maxEventLength = 262_144;

/**
 * The `data` of each event of a server-sent event stream (WHATWG HTML §9.2), comments and other fields left out.
 * Ends where the stream ends, which proves nothing; an event cut off by the end is dropped, as the standard says.
 * @throws what the chunks throw, and an Error for an event that is too long.
 */
export async function* eventData(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = [];
  let length = 0;
  for await (const line of lines(chunks)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n');
      data = [];
      length = 0;
      continue;
    }
    const field = /^data(?:: ?(.*))?$/s.exec(line);
    if (!field) continue;
    length += line.length;
    if (length > maxEventLength) throw new Error('an event of the stream is too long');
    data.push(field[1] ?? '');
  }
}

async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    // A CR at the very end may be the first half of a CRLF whose LF is still on its way.
    const parts = rest.split(/\r\n|\n|\r(?!$)/);
    rest = parts.pop() ?? '';
    if (rest.length > maxEventLength) throw new Error('a line of the stream is too long');
    yield* parts;
  }
}
