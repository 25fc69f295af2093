import { Busboy } from '@fastify/busboy';
import { boundaryOf, outlineParts, type OutlineRefusalCode } from './multipart-outline.ts';

export type MultipartRefusalCode =
  | OutlineRefusalCode
  | 'multipart_boundary_missing'
  | 'multipart_encoding_unsupported'
  | 'multipart_field_duplicate'
  | 'multipart_field_too_large'
  | 'multipart_field_not_utf8'
  | 'multipart_file_unexpected'
  | 'image_too_large';

export type MultipartRefusal = {
  readonly kind: 'refused';
  readonly code: MultipartRefusalCode;
  /** One English sentence for the developer of the app. */
  readonly detail: string;
};

export type FormFile = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** As the app said: hints for a log, never trusted. */
  readonly filename?: string;
  readonly contentType?: string;
};

export type Form = {
  readonly kind: 'form';
  readonly fields: ReadonlyMap<string, string>;
  readonly files: ReadonlyMap<string, FormFile>;
};

/** The one part that is a file. */
export const FILE_PART = 'image';

const MAX_PARTS = 20;
const MAX_FIELD_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 8 * 1024;
const MAX_HEADER_LINES = 32;

/** A part as the parser found it. */
type Part = {
  readonly name: string | undefined;
  readonly filename: string | undefined;
  readonly encoding: string;
  readonly contentType: string;
  readonly pieces: Buffer[];
};

/**
 * Parses a `multipart/form-data` body that is wholly here. Every outcome is a value: a body that is cut off, too large or
 * not as RFC 7578 says is refused with a code. The time is linear in the bytes. Never throws, never hangs.
 *
 * @param maxFileBytes the longest picture that is taken; other parts have at most 64 KiB
 */
export async function parseMultipart(
  body: Buffer,
  contentType: string,
  maxFileBytes: number,
): Promise<Form | MultipartRefusal> {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) {
    return refuse('multipart_boundary_missing', 'The Content-Type names no multipart boundary, or not a valid one.');
  }
  const outline = outlineParts(body, boundary, {
    parts: MAX_PARTS,
    headerBytes: MAX_HEADER_BYTES,
    headerLines: MAX_HEADER_LINES,
  });
  if ('kind' in outline) return outline;
  if (outline.length === 0) return { kind: 'form', fields: new Map(), files: new Map() };

  const parts = await readParts(body, boundary);
  // The parser passes over a part that has no name or is not form data, and over what it takes for the end.
  const isWhole =
    parts?.length === outline.length && parts.every((part, index) => byteLength(part) === sizeOf(outline[index]));
  if (!isWhole) return refuse('multipart_malformed', 'A part of the form is not form data with a name.');
  return toForm(parts, maxFileBytes);
}

/** The parts in their order, or undefined where the parser gave up. */
function readParts(body: Buffer, boundary: string): Promise<readonly Part[] | undefined> {
  return new Promise((resolve) => {
    const parts: Part[] = [];
    // All bytes are here and the parser waits for nothing else: it is done before the event loop turns, or never.
    const stalled = setImmediate(() => resolve(undefined));
    const settle = (outcome: readonly Part[] | undefined): void => {
      clearImmediate(stalled);
      resolve(outcome);
    };
    const parser = new Busboy({
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
      limits: { headerPairs: MAX_HEADER_LINES, headerSize: MAX_HEADER_BYTES },
      // Everything as raw bytes: as fields, the parser would replace what is not UTF-8 and say nothing.
      isPartAFile: () => true,
    });
    parser.on('file', (name, stream, filename, encoding, contentType) => {
      const part: Part = { name, filename, encoding, contentType, pieces: [] };
      parts.push(part);
      stream.on('data', (piece: Buffer) => part.pieces.push(piece));
      stream.on('error', () => settle(undefined));
    });
    parser.on('finish', () => settle(parts));
    parser.on('error', () => settle(undefined));
    parser.end(body);
  });
}

function toForm(parts: readonly Part[], maxFileBytes: number): Form | MultipartRefusal {
  const fields = new Map<string, string>();
  const files = new Map<string, FormFile>();
  for (const part of parts) {
    const { name } = part;
    if (name === undefined || name === '') return refuse('multipart_malformed', 'A part of the form has no name.');
    if (fields.has(name) || files.has(name)) {
      return refuse('multipart_field_duplicate', 'The form has two parts of the same name.');
    }
    if (!['7bit', '8bit', 'binary'].includes(part.encoding)) {
      return refuse(
        'multipart_encoding_unsupported',
        'A part has a Content-Transfer-Encoding: send its bytes as they are.',
      );
    }
    if (name === FILE_PART) {
      const file = toFile(part, maxFileBytes);
      if ('kind' in file) return file;
      files.set(name, file);
    } else {
      const value = toValue(part);
      if (typeof value !== 'string') return value;
      fields.set(name, value);
    }
  }
  return { kind: 'form', fields, files };
}

function toFile(part: Part, maxFileBytes: number): FormFile | MultipartRefusal {
  const length = byteLength(part);
  if (length > maxFileBytes) {
    return refuse('image_too_large', `The picture has ${length} bytes; at most ${maxFileBytes} are taken.`);
  }
  return {
    bytes: joined(part),
    ...(part.filename === undefined ? {} : { filename: part.filename }),
    contentType: part.contentType,
  };
}

/** Browsers and phones send JSON as a nameless "blob" file, which is a field; a picture under another name is a mistake. */
function toValue(part: Part): string | MultipartRefusal {
  const isText = /^(?:text\/|application\/json\b)/.test(part.contentType);
  if (part.filename !== undefined && !isText) {
    return refuse('multipart_file_unexpected', `The form has a file that is not in the part named "${FILE_PART}".`);
  }
  if (byteLength(part) > MAX_FIELD_BYTES) {
    return refuse('multipart_field_too_large', `A field has more than ${MAX_FIELD_BYTES} bytes.`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(joined(part));
  } catch {
    return refuse('multipart_field_not_utf8', 'A field is not UTF-8.');
  }
}

function byteLength(part: Part): number {
  return part.pieces.reduce((total, piece) => total + piece.length, 0);
}

function joined(part: Part): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(byteLength(part));
  let at = 0;
  for (const piece of part.pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

function sizeOf(range: { readonly dataStart: number; readonly dataEnd: number } | undefined): number {
  return range === undefined ? -1 : range.dataEnd - range.dataStart;
}

function refuse(code: MultipartRefusalCode, detail: string): MultipartRefusal {
  return { kind: 'refused', code, detail };
}
