import * as z from 'zod';
import { jobBodySchema } from '../http/job-body.ts';
import { PROBLEMS, type ProblemCode, type Refusal } from '../http/problem.ts';
import { parseJson, readWith } from '../http/request.ts';

/** What goes over a socket, both ways: the contract with every client. v1 only ever adds to it. */

export const mostJobsPerMessage = 20;
const longestMessageChars = 4_096;

const jobIds = z
  .array(z.string().min(1).max(100))
  .min(1)
  .max(mostJobsPerMessage)
  .describe('Ids of jobs that the connected owner may see.');

/** From the client. */
export const commandSchema = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('follow'), jobIds }),
  z.strictObject({ action: z.literal('unfollow'), jobIds }),
  z.strictObject({ action: z.literal('ping') }),
]);
export type Command = z.infer<typeof commandSchema>;

const problemCodes = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** To the client. */
export const outgoingSchema = z.discriminatedUnion('type', [
  z
    .object({ type: z.literal('job'), job: jobBodySchema })
    .describe('A whole snapshot. An older `version` never replaces a newer one; only `done` ends the wait.'),
  z.object({
    type: z.literal('progress'),
    jobId: z.string(),
    percent: z.number().min(0).max(100),
    stage: z.string().nullable(),
    version: z.int().positive(),
  }),
  z.object({ type: z.literal('pong') }),
  z.object({
    type: z.literal('problem'),
    code: z.enum(problemCodes),
    detail: z.string(),
    jobId: z.string().optional().describe('The job that it is about.'),
  }),
]);
export type Outgoing = z.infer<typeof outgoingSchema>;

export function problemMessage({ code, detail }: Refusal, jobId?: string): Outgoing {
  const about = jobId === undefined ? {} : { jobId };
  return { type: 'problem', code, detail: detail ?? PROBLEMS[code].docs, ...about };
}

export type CommandRead =
  | { readonly kind: 'command'; readonly command: Command }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** Whatever is not one of our messages is answered alike, whichever route API Gateway chose for it. */
export function readCommand(body: string): CommandRead {
  if (body.length > longestMessageChars) {
    return refused(`A message has at most ${longestMessageChars} characters.`);
  }
  const parsed = parseJson(body);
  if (parsed.kind === 'refused') return refused(parsed.refusal.detail);
  const read = readWith(commandSchema, parsed.value);
  if (read.kind === 'read') return { kind: 'command', command: read.value };
  return refused(isTooMany(parsed.value) ? `At most ${mostJobsPerMessage} jobs in one message.` : undefined);
}

function refused(detail: string | undefined): CommandRead {
  return { kind: 'refused', refusal: { code: 'message_invalid', detail } };
}

function isTooMany(value: unknown): boolean {
  const list = z.object({ jobIds: z.array(z.unknown()) }).safeParse(value);
  return list.success && list.data.jobIds.length > mostJobsPerMessage;
}
