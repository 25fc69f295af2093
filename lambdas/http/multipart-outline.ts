/**
 * The parts of a multipart body as byte ranges, found before anything parses them.
 *
 * The parser works on streams: it skips in silence what it does not understand, and a body that it never finishes is a
 * request that never answers. A body is here as a whole, so what it must contain is counted first.
 */
export type PartOutline = {
  /** The range of the header block, without the empty line that ends it. */
  readonly headersStart: number;
  readonly headersEnd: number;
  readonly dataStart: number;
  readonly dataEnd: number;
};

export type OutlineRefusal = { readonly kind: 'refused'; readonly code: OutlineRefusalCode; readonly detail: string };

export type OutlineRefusalCode =
  | 'multipart_malformed'
  | 'multipart_truncated'
  | 'multipart_too_many_parts'
  | 'multipart_headers_too_large';

export type OutlineLimits = { readonly parts: number; readonly headerBytes: number; readonly headerLines: number };

const CRLF = '\r\n';
const EMPTY_LINE = '\r\n\r\n';

/** RFC 2046, 5.1.1: what may be a boundary is 1 to 70 characters long and does not end with a space. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

/** The boundary that a content type names, or undefined where it is no multipart form or names none. */
export function boundaryOf(contentType: string): string | undefined {
  if (contentType.length > 512 || !/^multipart\/form-data\s*(?:;|$)/i.test(contentType)) return undefined;
  const named = /;\s*boundary\s*=\s*(?:"([^"\\]*)"|([^\s;"]+))\s*(?:;|$)/i.exec(contentType);
  const boundary = named?.[1] ?? named?.[2];
  return boundary !== undefined && BOUNDARY.test(boundary) ? boundary : undefined;
}

/** Finds the parts between the boundary's lines; the text before the first and behind the last means nothing (RFC 2046). */
export function outlineParts(
  body: Buffer,
  boundary: string,
  limits: OutlineLimits,
): readonly PartOutline[] | OutlineRefusal {
  const dashes = `--${boundary}`;
  const delimiter = `${CRLF}${dashes}`;
  const isFirstLine = body.subarray(0, dashes.length).equals(Buffer.from(dashes, 'latin1'));
  let lineStart = isFirstLine ? 0 : body.indexOf(delimiter);
  if (lineStart === -1) return refuse('multipart_malformed', 'The body does not contain the boundary that it names.');
  let lineEnd = lineStart + (isFirstLine ? dashes.length : delimiter.length);

  const parts: PartOutline[] = [];
  for (;;) {
    if (textAt(body, lineEnd, 2) === '--') return parts;
    if (parts.length === limits.parts) {
      return refuse('multipart_too_many_parts', `The form has more than ${limits.parts} parts.`);
    }
    lineStart = body.indexOf(delimiter, lineEnd);
    if (lineStart === -1)
      return refuse('multipart_truncated', 'The body ends before its closing boundary: it was cut off.');
    const part = outlinePart(body, lineEnd, lineStart, limits);
    if ('kind' in part) return part;
    parts.push(part);
    lineEnd = lineStart + delimiter.length;
  }
}

function outlinePart(body: Buffer, start: number, end: number, limits: OutlineLimits): PartOutline | OutlineRefusal {
  if (textAt(body, start, 2) !== CRLF) return refuse('multipart_malformed', 'A boundary is not on a line of its own.');
  // Searched within its limit only: a body of nothing but headers costs no more than one that is refused at once.
  const reach = body.subarray(start, Math.min(end, start + limits.headerBytes + EMPTY_LINE.length));
  const length = reach.indexOf(EMPTY_LINE);
  if (length === -1) {
    return reach.length === limits.headerBytes + EMPTY_LINE.length
      ? refuse('multipart_headers_too_large', `The headers of a part have more than ${limits.headerBytes} bytes.`)
      : refuse('multipart_malformed', 'A part has no empty line between its headers and its data.');
  }
  const headersEnd = start + length;
  const headers = body.toString('latin1', start + CRLF.length, headersEnd);
  const lines = headers.split(CRLF);
  if (lines.length > limits.headerLines) {
    return refuse('multipart_headers_too_large', `A part has more than ${limits.headerLines} header lines.`);
  }
  const part = {
    headersStart: start + CRLF.length,
    headersEnd,
    dataStart: headersEnd + EMPTY_LINE.length,
    dataEnd: end,
  };
  return refuseLength(lines, part.dataEnd - part.dataStart) ?? part;
}

/** A part may declare its length; where that is another than it has, bytes were lost or added on the way. */
function refuseLength(lines: readonly string[], bytes: number): OutlineRefusal | undefined {
  for (const line of lines) {
    const declared = /^content-length\s*:(.*)$/i.exec(line)?.[1]?.trim();
    if (declared === undefined || (/^\d{1,15}$/.test(declared) && Number(declared) === bytes)) continue;
    return refuse('multipart_malformed', 'A part has another length than it declares.');
  }
  return undefined;
}

function textAt(body: Buffer, start: number, length: number): string {
  return body.toString('latin1', start, Math.min(start + length, body.length));
}

function refuse(code: OutlineRefusalCode, detail: string): OutlineRefusal {
  return { kind: 'refused', code, detail };
}
