import type { PictureRule } from './catalogue.ts';
import { sha256Of } from './idempotency.ts';
import type { InputPicture } from './job.ts';
import { inspectPicture } from './picture.ts';
import type { PictureRefusalCode } from './picture-refusal.ts';
import type { FileStore } from './ports.ts';
import { stripLocation } from './strip-location.ts';
import { uploadKeyOf, type Upload, type UploadStore } from './upload.ts';

/** How the request brings its picture. */
export type SentPicture =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'upload'; readonly uploadId: string };

export type PictureProblem =
  | 'image_required'
  | 'image_unexpected'
  | 'image_type_unsupported'
  | 'image_unreadable'
  | 'image_too_large'
  | 'image_too_many_pixels'
  | 'upload_not_found'
  | 'upload_incomplete'
  | 'upload_expired'
  | 'upload_mismatch';

export interface PictureRefused {
  readonly kind: 'refused';
  readonly code: PictureProblem;
  readonly detail: string | undefined;
}

export interface PictureReceived {
  readonly kind: 'received';
  readonly facts: InputPicture;
  /** What is kept and sent: without the place, time and device that the photograph named. */
  readonly bytes: Uint8Array;
}

export interface PictureSources {
  readonly uploads: Pick<UploadStore, 'read'>;
  readonly files: Pick<FileStore, 'get'>;
}

/** The bytes are read once: what is judged here is what is kept and sent. */
export async function receivePicture(
  sent: SentPicture | undefined,
  rule: PictureRule | undefined,
  context: { readonly owner: string; readonly now: number },
  sources: PictureSources,
): Promise<PictureReceived | PictureRefused | { readonly kind: 'none' }> {
  if (rule === undefined) return sent === undefined ? { kind: 'none' } : refused('image_unexpected');
  if (sent === undefined) return refused('image_required');
  if (sent.kind === 'bytes') return judge(sent.bytes, sha256Of(sent.bytes), undefined, rule);
  const read = await readUpload(sent.uploadId, context, sources);
  return read.kind === 'refused' ? read : judge(read.bytes, read.sha256, sent.uploadId, rule);
}

/**
 * The hash of what the request brings, for comparing it with a job that exists. Undefined where it can't be known any
 * more: the upload and its record are gone.
 */
export async function sentSha256(
  sent: SentPicture,
  owner: string,
  known: InputPicture | undefined,
  sources: PictureSources,
): Promise<string | undefined> {
  if (sent.kind === 'bytes') return sha256Of(sent.bytes);
  if (known?.uploadId === sent.uploadId) return known.sha256;
  const upload = await ownUpload(sent.uploadId, owner, sources);
  if (upload === undefined) return undefined;
  if (upload.sha256 !== undefined) return upload.sha256;
  const file = await sources.files.get(uploadKeyOf(upload));
  return file === undefined ? undefined : sha256Of(file.bytes);
}

async function readUpload(
  uploadId: string,
  { owner, now }: { readonly owner: string; readonly now: number },
  sources: PictureSources,
): Promise<PictureRefused | { readonly kind: 'read'; readonly bytes: Uint8Array; readonly sha256: string }> {
  const upload = await ownUpload(uploadId, owner, sources);
  if (upload === undefined) return refused('upload_not_found');
  if (now >= upload.expiresAt) return refused('upload_expired');
  const file = await sources.files.get(uploadKeyOf(upload));
  if (file === undefined) return refused('upload_incomplete');
  const sha256 = sha256Of(file.bytes);
  const difference = differenceFrom(upload, file.bytes.length, sha256);
  return difference === undefined
    ? { kind: 'read', bytes: file.bytes, sha256 }
    : refused('upload_mismatch', difference);
}

function differenceFrom(upload: Upload, bytes: number, sha256: string): string | undefined {
  if (bytes !== upload.bytes) return `${upload.bytes} bytes were announced, and ${bytes} arrived.`;
  if (upload.sha256 !== undefined && sha256 !== upload.sha256) return 'The bytes do not have the announced sha256.';
  return undefined;
}

async function ownUpload(id: string, owner: string, { uploads }: PictureSources): Promise<Upload | undefined> {
  const upload = await uploads.read(id);
  return upload?.owner === owner ? upload : undefined;
}

function judge(
  bytes: Uint8Array,
  sha256: string,
  uploadId: string | undefined,
  rule: PictureRule,
): PictureReceived | PictureRefused {
  const picture = inspectPicture(bytes, rule);
  if (picture.kind === 'refused') return refused(problemOf[picture.code], picture.detail);
  const { contentType, width, height } = picture;
  if (!rule.accepts.includes(contentType)) {
    return refused('image_type_unsupported', `${contentType} is not taken; ${rule.accepts.join(', ')} are.`);
  }
  if (picture.frames > 1) return refused('image_type_unsupported', 'Animated pictures are not taken.');
  const stripped = stripLocation(bytes, picture.format);
  return {
    kind: 'received',
    facts: { contentType, bytes: stripped.length, width, height, uploadId, sha256 },
    bytes: stripped,
  };
}

const problemOf: Readonly<Record<PictureRefusalCode, PictureProblem>> = {
  image_empty: 'image_required',
  image_unrecognized: 'image_type_unsupported',
  image_unsupported: 'image_type_unsupported',
  image_broken: 'image_unreadable',
  image_too_large: 'image_too_large',
  image_too_many_pixels: 'image_too_many_pixels',
};

function refused(code: PictureProblem, detail?: string): PictureRefused {
  return { kind: 'refused', code, detail };
}
