import * as z from 'zod';
import { createUpload, type CreateUploadWorld } from '../domain/create-upload.ts';
import { ownerOf } from '../domain/job.ts';
import { answerJson, answerProblem } from './answer.ts';
import type { Authenticator } from './authenticate.ts';
import { authenticated, readJsonBody, type Route } from './request.ts';

export const createUploadSchema = z.strictObject({
  contentType: z.string().min(1).max(100).describe('What the bytes are; `GET /api/v1/features` lists what is taken.'),
  bytes: z.int().positive().describe('Exactly how many there are.'),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits')
    .optional()
    .describe('Of the bytes. With it, a retry is recognised even when the bytes are gone.'),
});

export const uploadSchema = z.object({
  uploadId: z.string(),
  method: z.literal('POST'),
  url: z.string(),
  headers: z.record(z.string(), z.string()).describe('None: the form brings its own.'),
  fields: z
    .record(z.string(), z.string())
    .describe('Send them as `multipart/form-data` in this order, and the bytes as the last field, named `file`.'),
  maxBytes: z.int(),
  expiresAt: z.iso.datetime().describe('Until when the form is taken. The job can be submitted for a day.'),
});

export interface CreateUploadSettings {
  readonly authenticator: Authenticator;
  readonly world: CreateUploadWorld;
}

/** `POST /api/v1/uploads` */
export function createUploadRoute({ authenticator, world }: CreateUploadSettings): Route {
  return authenticated(authenticator, 'jobs', async ({ event, requestId, principal }) => {
    const body = readJsonBody(event, createUploadSchema);
    if (body.kind === 'refused') return answerProblem(body.refusal, { requestId });
    const { contentType, bytes, sha256 } = body.value;
    const owner = ownerOf(principal.tenant, principal.user);
    const created = await createUpload({ owner, contentType: contentType.toLowerCase(), bytes, sha256 }, world);
    if (created.kind === 'refused') return answerProblem(created, { requestId });
    if (created.kind === 'limited') {
      const retryAfterSeconds = created.retryAfterMs / 1000;
      return answerProblem({ code: 'upload_rate_limit' }, { requestId, retryAfterSeconds });
    }
    const { upload, form } = created;
    const answer: z.infer<typeof uploadSchema> = {
      uploadId: upload.id,
      method: 'POST',
      url: form.url,
      headers: {},
      fields: { ...form.fields },
      maxBytes: bytes,
      expiresAt: new Date(form.expiresAtMs).toISOString(),
    };
    return answerJson(201, answer, { requestId });
  });
}
