import { createHash } from 'node:crypto';

export interface Part {
  readonly name: string;
  readonly contentType?: string;
  readonly fileName?: string;
  readonly content: string | Uint8Array;
}

export interface Form {
  readonly contentType: string;
  readonly body: Uint8Array;
}

/**
 * A multipart/form-data body (RFC 7578). The same parts give the same bytes: a vendor that hashes the raw body of a
 * keyed request must find a retake equal to the first send. Names must be plain ASCII without quotes.
 */
export function multipart(parts: readonly Part[]): Form {
  const boundary = boundaryOf(parts);
  const body = Buffer.concat([...parts.flatMap((part) => bytesOf(part, boundary)), Buffer.from(`--${boundary}--\r\n`)]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}

/** A hash of the content: content that holds its own hash can't be made. */
function boundaryOf(parts: readonly Part[]): string {
  const hash = createHash('sha256');
  for (const { name, content } of parts) hash.update(`${name} ${content.length} `).update(content);
  return `slowlane-${hash.digest('hex').slice(0, 48)}`;
}

function bytesOf({ name, contentType, fileName, content }: Part, boundary: string): Buffer[] {
  const file = fileName === undefined ? '' : `; filename="${fileName}"`;
  const type = contentType === undefined ? '' : `Content-Type: ${contentType}\r\n`;
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${type}\r\n`;
  return [Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')];
}
