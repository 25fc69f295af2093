import type { IncomingMessage } from 'node:http';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import * as z from 'zod';
import { S3Error } from './s3-error.ts';

export interface PostForm {
  /** By lower-cased name, without the file. */
  readonly fields: ReadonlyMap<string, string>;
  readonly file: Buffer;
  readonly fileName: string;
}

const longestFormFile = 64 * 1024 * 1024;

/** Reads a browser's upload form. Fields behind the file are dropped, as S3 ignores them. */
export async function readPostForm(request: IncomingMessage): Promise<PostForm> {
  const fields = new Map<string, string>();
  const chunks: Buffer[] = [];
  let fileName: string | undefined;
  const form = new Busboy({
    headers: request.headers as BusboyHeaders,
    limits: { files: 1, fileSize: longestFormFile, fieldSize: 20 * 1024 },
  });
  form.on('field', (name, value) => {
    if (fileName === undefined) fields.set(name.toLowerCase(), value);
  });
  form.on('file', (_, stream, name) => {
    fileName = name ?? '';
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  });
  await new Promise<void>((resolve, reject) => {
    form.once('finish', resolve);
    form.once('error', reject);
    request.pipe(form);
  });
  if (fileName === undefined)
    throw new S3Error(400, 'InvalidArgument', 'POST requires exactly one file upload per request.');
  return { fields, file: Buffer.concat(chunks), fileName };
}

const conditionSchema = z.union([
  z.tuple([z.literal('content-length-range'), z.coerce.number(), z.coerce.number()]),
  z.tuple([z.enum(['eq', 'starts-with']), z.string(), z.string()]),
  z.record(z.string(), z.string()),
]);

const policySchema = z.object({ expiration: z.iso.datetime(), conditions: z.array(conditionSchema) });

const uncovered = new Set(['policy', 'x-amz-signature', 'file', 'bucket']);

/**
 * Holds a form to its signed policy: every condition, and no field that the policy doesn't name.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html
 * @throws S3Error with S3's own code.
 */
export function checkPostPolicy(form: PostForm, bucket: string, nowMs: number): void {
  const policy = readPolicy(form.fields.get('policy') ?? '');
  if (nowMs > Date.parse(policy.expiration)) throw violation('Policy expired.');
  const values = new Map([...form.fields, ['bucket', bucket]]);
  const named = new Set<string>();
  const expectValue = (name: string, holds: (value: string) => boolean, condition: unknown) => {
    named.add(name.toLowerCase());
    if (!holds(values.get(name.toLowerCase()) ?? ''))
      throw violation(`Policy Condition failed: ${JSON.stringify(condition)}`);
  };
  for (const condition of policy.conditions) {
    if (!Array.isArray(condition)) {
      for (const [name, wanted] of Object.entries(condition)) expectValue(name, (value) => value === wanted, condition);
    } else if (condition[0] === 'content-length-range') {
      checkLength(form.file.length, condition[1], condition[2]);
    } else {
      const [operator, name, wanted] = condition;
      const holds = (value: string) => (operator === 'eq' ? value === wanted : value.startsWith(wanted));
      expectValue(name.replace(/^\$/, ''), holds, condition);
    }
  }
  for (const name of form.fields.keys()) {
    if (!named.has(name) && !uncovered.has(name) && !name.startsWith('x-ignore-'))
      throw violation(`Extra input fields: ${name}`);
  }
}

function readPolicy(encoded: string): z.infer<typeof policySchema> {
  try {
    return policySchema.parse(JSON.parse(Buffer.from(encoded, 'base64').toString('utf8')));
  } catch (error) {
    throw new S3Error(400, 'InvalidPolicyDocument', `Invalid Policy: ${String(error)}`);
  }
}

function checkLength(bytes: number, least: number, most: number): void {
  if (bytes > most) throw new S3Error(400, 'EntityTooLarge', 'Your proposed upload exceeds the maximum allowed size');
  if (bytes < least)
    throw new S3Error(400, 'EntityTooSmall', 'Your proposed upload is smaller than the minimum allowed size');
}

const violation = (why: string) => new S3Error(403, 'AccessDenied', `Invalid according to Policy: ${why}`);
