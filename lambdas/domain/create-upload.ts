import type { Catalogue } from './catalogue.ts';
import type { Clock, Limits, Tokens, UploadCounter } from './ports.ts';
import { uploadKeyOf, type Upload, type UploadStore } from './upload.ts';

export interface CreateUpload {
  readonly owner: string;
  readonly contentType: string;
  readonly bytes: number;
  readonly sha256: string | undefined;
}

/** A form that stores one file of exactly this key, type and size, with `file` as its last field. */
export interface UploadForm {
  readonly url: string;
  readonly fields: Readonly<Record<string, string>>;
  /** Epoch ms. */
  readonly expiresAtMs: number;
}

export interface UploadSigner {
  signUpload(
    key: string,
    limits: {
      readonly contentType: string;
      readonly minBytes: number;
      readonly maxBytes: number;
      readonly expiresInSeconds: number;
    },
  ): Promise<UploadForm>;
}

export type UploadOutcome =
  | { readonly kind: 'created'; readonly upload: Upload; readonly form: UploadForm }
  | { readonly kind: 'refused'; readonly code: 'image_type_unsupported' | 'image_too_large'; readonly detail: string }
  | { readonly kind: 'limited'; readonly retryAfterMs: number };

export interface CreateUploadWorld {
  readonly uploads: Pick<UploadStore, 'put'>;
  readonly files: UploadSigner;
  readonly owners: UploadCounter;
  readonly limits: Pick<Limits, 'submitsPerMinute'>;
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly tokens: Tokens;
}

/** For sending the bytes: a slow phone has time, and a leaked form is soon worth nothing. */
export const uploadFormSeconds = 3_600;
/** For naming it in a job: an app may be offline, or asleep, between the two. */
export const uploadKeptMs = 24 * 3_600_000;

/** What no feature takes is refused here, before anybody sends megabytes for nothing. */
export async function createUpload(command: CreateUpload, world: CreateUploadWorld): Promise<UploadOutcome> {
  const rules = world.catalogue.all().flatMap(({ picture }) => (picture === undefined ? [] : [picture]));
  const fitting = rules.filter(({ accepts }) => accepts.includes(command.contentType));
  if (fitting.length === 0) {
    const accepted = [...new Set(rules.flatMap(({ accepts }) => accepts))].join(', ');
    return { kind: 'refused', code: 'image_type_unsupported', detail: `Convert it first: ${accepted} are taken.` };
  }
  const maxBytes = Math.max(...fitting.map((rule) => rule.maxBytes));
  if (command.bytes > maxBytes) {
    return { kind: 'refused', code: 'image_too_large', detail: `At most ${maxBytes} bytes are taken.` };
  }
  const counted = await world.owners.countUpload(command.owner, world.limits, world.clock.now());
  if (counted.kind === 'limited') return counted;
  const upload = newUpload(command, world);
  const { contentType, bytes } = command;
  const limits = { contentType, minBytes: bytes, maxBytes: bytes, expiresInSeconds: uploadFormSeconds };
  const form = await world.files.signUpload(uploadKeyOf(upload), limits);
  await world.uploads.put(upload);
  return { kind: 'created', upload, form };
}

function newUpload({ owner, contentType, bytes, sha256 }: CreateUpload, { clock, tokens }: CreateUploadWorld): Upload {
  const createdAt = clock.now();
  const id = `upl_${tokens.next()}`;
  return { id, owner, contentType, bytes, sha256, createdAt, expiresAt: createdAt + uploadKeptMs };
}
