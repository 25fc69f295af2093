import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import * as z from 'zod';
import type { Said } from '../domain/idempotency.ts';
import type { SentPicture } from '../domain/receive-picture.ts';
import type { JsonObject } from '../domain/vendor.ts';
import { jsonObject } from './json-object.ts';
import { FILE_PART, parseMultipart, type Form, type MultipartRefusal } from './multipart.ts';
import { bodyOf, mediaTypeOf, parseJson, readJsonBody, readWith, refuseBody, type BodyRead } from './request.ts';

/** The two framings of a submit. What they say is the same, and so is its fingerprint. */

/** Only the shape: what the words mean is judged after it is known whether the key's job exists already. */
const words = {
  feature: z.string().min(1).max(64).describe('A feature that `GET /api/v1/features` lists.'),
  params: jsonObject
    .refine((params) => JSON.stringify(params).length <= 8_000, 'must be at most 8,000 characters')
    .optional()
    .describe('As the feature describes them.'),
  consent: z
    .string()
    .max(64)
    .optional()
    .describe('`confirmed`: the person in the photograph agreed to what the feature does with it.'),
  metadata: jsonObject.optional().describe('Yours: stored and given back, at most 2,000 characters of JSON.'),
};

/** As we make them; what is no Unicode could not even be looked for in the store. */
const uploadId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'is no upload id');

export const submitJsonSchema = z.strictObject({
  ...words,
  inputs: z
    .strictObject({
      image: z.strictObject({ uploadId: uploadId.describe('From `POST /api/v1/uploads`.') }).optional(),
    })
    .optional(),
});

/** `params` and `metadata` are JSON texts there. */
export const submitFormSchema = z.strictObject(words);

export interface SubmitBody {
  readonly said: Said;
  readonly picture: SentPicture | undefined;
  readonly metadata: JsonObject | undefined;
}

export async function readSubmitBody(event: APIGatewayProxyEventV2): Promise<BodyRead<SubmitBody>> {
  switch (mediaTypeOf(event)) {
    case 'application/json':
      return readJson(event);
    case 'multipart/form-data':
      return readForm(event);
    default:
      return refuseBody({ code: 'media_type_unsupported' });
  }
}

function readJson(event: APIGatewayProxyEventV2): BodyRead<SubmitBody> {
  const read = readJsonBody(event, submitJsonSchema);
  if (read.kind === 'refused') return read;
  const image = read.value.inputs?.image;
  return bodySaying(read.value, image === undefined ? undefined : { kind: 'upload', uploadId: image.uploadId });
}

async function readForm(event: APIGatewayProxyEventV2): Promise<BodyRead<SubmitBody>> {
  const body = bodyOf(event);
  // How large a picture may be is its feature's to say, and after the key was looked up.
  const form = await parseMultipart(body, event.headers['content-type'] ?? '', body.length);
  if (form.kind === 'refused') return refuseBody({ code: problemOf(form), detail: form.detail });
  const fields = parseFields(form);
  if (fields.kind === 'refused') return fields;
  const read = readWith(submitFormSchema, fields.value);
  if (read.kind === 'refused') return read;
  const file = form.files.get(FILE_PART);
  return bodySaying(read.value, file === undefined ? undefined : { kind: 'bytes', bytes: file.bytes });
}

function problemOf({ code }: MultipartRefusal): 'request_invalid' | 'body_malformed' | 'image_too_large' {
  switch (code) {
    case 'image_too_large':
      return code;
    case 'multipart_field_duplicate':
    case 'multipart_file_unexpected':
      return 'request_invalid';
    default:
      return 'body_malformed';
  }
}

const jsonFields: readonly string[] = ['params', 'metadata'];

function parseFields(form: Form): BodyRead<Record<string, unknown>> {
  const fields: [string, unknown][] = [];
  for (const [name, text] of form.fields) {
    const parsed: BodyRead<unknown> = jsonFields.includes(name) ? parseJson(text) : { kind: 'read', value: text };
    if (parsed.kind === 'refused') {
      return refuseBody({ ...parsed.refusal, detail: `${name}: ${parsed.refusal.detail ?? 'is not JSON.'}` });
    }
    fields.push([name, parsed.value]);
  }
  return { kind: 'read', value: Object.fromEntries(fields) };
}

function bodySaying(
  { feature, params, consent, metadata }: z.infer<typeof submitFormSchema>,
  picture: SentPicture | undefined,
): BodyRead<SubmitBody> {
  // No parameters and an empty object say the same.
  return { kind: 'read', value: { said: { feature, parameters: params ?? {}, consent }, picture, metadata } };
}
