import * as z from 'zod';
import { clientTokenSchema, createClientTokenSchema } from '../lambdas/http/create-client-token.ts';
import { socketTicketSchema } from '../lambdas/http/create-socket-ticket.ts';
import { createUploadSchema, uploadSchema } from '../lambdas/http/create-upload.ts';
import { featuresSchema, healthSchema } from '../lambdas/http/describe-api.ts';
import { ownerErasureSchema } from '../lambdas/http/erase-jobs.ts';
import { jobBodySchema } from '../lambdas/http/job-body.ts';
import { jobListSchema } from '../lambdas/http/list-jobs.ts';
import { flaggedListSchema } from '../lambdas/http/list-flagged.ts';
import { operatorJobReadSchema } from '../lambdas/http/operate-jobs.ts';
import { changeLaneBody, laneListSchema, laneSchema } from '../lambdas/http/operate-lanes.ts';
import { PROBLEMS, type ProblemCode } from '../lambdas/http/problem.ts';
import { resultUrlSchema } from '../lambdas/http/read-job.ts';
import { adoptBody, failBody, resendBody, retakeBody, settleManyBody } from '../lambdas/http/settle-bodies.ts';
import { settledManySchema } from '../lambdas/http/settle-many.ts';
import { settledSchema } from '../lambdas/http/settled.ts';
import { submitFormSchema, submitJsonSchema } from '../lambdas/http/submit-body.ts';

/** The schemas that the handlers themselves parse and answer with, by their names in the document. */

const requests = {
  SubmitJob: submitJsonSchema,
  CreateUpload: createUploadSchema,
  CreateClientToken: createClientTokenSchema,
  Adopt: adoptBody,
  Retake: retakeBody,
  Resend: resendBody,
  Fail: failBody,
  SettleMany: settleManyBody,
  ChangeLane: changeLaneBody,
} as const;

const answers = {
  Job: jobBodySchema,
  JobList: jobListSchema,
  ResultUrl: resultUrlSchema,
  Upload: uploadSchema,
  ClientToken: clientTokenSchema,
  SocketTicket: socketTicketSchema,
  OwnerErasure: ownerErasureSchema,
  Features: featuresSchema,
  Health: healthSchema,
  FlaggedList: flaggedListSchema,
  OperatorJobRead: operatorJobReadSchema,
  Settled: settledSchema,
  SettledMany: settledManySchema,
  Lane: laneSchema,
  LaneList: laneListSchema,
} as const;

export type SchemaName = keyof typeof requests | keyof typeof answers | 'SubmitJobForm' | 'Problem';

export interface SchemaReference {
  readonly $ref: `#/components/schemas/${SchemaName}`;
}

export function schemaNamed(name: SchemaName): SchemaReference {
  return { $ref: `#/components/schemas/${name}` };
}

export function componentSchemas(): Record<string, object> {
  return {
    ...convert(requests, 'input'),
    SubmitJobForm: submitForm(),
    ...convert(answers, 'output'),
    Problem: problemSchema(),
  };
}

/** `z.toJSONSchema` of many at once, so that one names another instead of repeating it. */
function convert(schemas: Readonly<Record<string, z.ZodType>>, io: 'input' | 'output'): Record<string, object> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const uri = (id: string): string => `#/components/schemas/${id}`;
  const converted = z.toJSONSchema(registry, { io, uri, override: io === 'output' ? letGrow : () => {} });
  return Object.fromEntries(Object.entries(converted.schemas).map(([name, schema]) => [name, anonymous(schema)]));
}

/** The document itself says the dialect, and where each stands. */
function anonymous(schema: z.core.JSONSchema.BaseSchema): object {
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  return rest;
}

/** v1 only ever adds to its answers: a client that refuses what it doesn't know would break on the next one. */
function letGrow({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
}

/** In a form everything is text: `params` and `metadata` hold JSON, and the picture is a part of its own. */
function submitForm(): object {
  const { $schema: _, ...form } = z.toJSONSchema(submitFormSchema, { io: 'input' });
  const { params, metadata, ...rest } = form.properties ?? {};
  const image = { type: 'string', format: 'binary', description: 'The bytes of the picture.' };
  return { ...form, properties: { ...rest, params: jsonText(params), metadata: jsonText(metadata), image } };
}

function jsonText(described: unknown): object {
  const { description } = z.object({ description: z.string() }).parse(described);
  return { type: 'string', contentMediaType: 'application/json', description };
}

function problemSchema(): object {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  const listed = codes.map((code) => `- \`${code}\` (${PROBLEMS[code].status}): ${PROBLEMS[code].docs}`);
  return {
    type: 'object',
    description: `RFC 9457. Programs read \`code\`, which never changes its meaning.\n\n${listed.join('\n')}`,
    required: ['type', 'title', 'status', 'code', 'detail', 'requestId'],
    properties: {
      type: { type: 'string' },
      title: { type: 'string' },
      status: { type: 'integer' },
      code: { type: 'string', enum: codes },
      detail: { type: 'string' },
      requestId: { type: 'string' },
      jobId: { type: 'string', description: 'With `idempotency_key_reused` and `vendor_job_taken`.' },
      errors: {
        type: 'array',
        description: 'With `request_invalid` and `parameters_invalid`.',
        items: {
          type: 'object',
          required: ['field', 'message'],
          properties: { field: { type: 'string' }, message: { type: 'string' } },
        },
      },
    },
  };
}
