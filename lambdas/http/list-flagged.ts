import * as z from 'zod';
import { causes, countFlagged, listFlagged, type FlaggedFilter } from '../domain/list-flagged.ts';
import type { OperatorWorld } from '../domain/settle-flagged.ts';
import { answerJson, answerProblem, type HttpAnswer } from './answer.ts';
import type { Authenticator } from './authenticate.ts';
import type { Cursors } from './cursor.ts';
import { operatorJobBody, operatorJobSchema, type OperatorView } from './operator-job.ts';
import { readWith, type AuthenticatedRequest } from './request.ts';
import { listFlaggedQuery } from './settle-bodies.ts';

const countsSchema = {
  counts: z
    .partialRecord(z.enum(causes), z.int().nonnegative())
    .describe('By cause, of all that match the filter, whatever its `code`; as they were at the first page.'),
  complete: z.boolean().describe('False: there are more flagged jobs than were counted.'),
};

export const flaggedListSchema = z.object({
  flagged: z.array(operatorJobSchema).describe('Oldest first.'),
  nextCursor: z
    .string()
    .nullable()
    .describe('Not null: the list goes on, even where this page is shorter than `limit`, or empty.'),
  ...countsSchema,
});

/** The counts go along, so that they are taken once for a list and not for each of its pages. */
const cursorSchema = z.object({ after: z.string(), ...countsSchema });

export interface OperateJobsSettings {
  readonly authenticator: Authenticator;
  readonly cursors: Cursors;
  readonly world: OperatorWorld;
  readonly view: OperatorView;
  readonly lanes: readonly string[];
}

/** `GET /api/v1/operator/flagged` */
export async function listFlaggedJobs(
  { event, requestId, principal }: AuthenticatedRequest,
  { cursors, world, view, lanes }: OperateJobsSettings,
): Promise<HttpAnswer> {
  const query = readWith(listFlaggedQuery, event.queryStringParameters ?? {});
  if (query.kind === 'refused') return answerProblem(query.refusal, { requestId });
  const { cursor: sent, limit, lane, code, vendor } = query.value;
  const filter = { tenant: principal.tenant, lane, code, vendor };
  const purpose = flaggedPurpose(filter);
  const cursor = sent === undefined ? undefined : await cursors.read(sent, purpose);
  if (sent !== undefined && cursor === undefined) return answerProblem({ code: 'cursor_invalid' }, { requestId });
  const goesOn = cursor === undefined ? undefined : cursorSchema.parse(JSON.parse(cursor));
  const { jobs, next } = await listFlagged(filter, { cursor: goesOn?.after, limit }, lanes, world);
  const { counts, complete } = goesOn ?? (await countFlagged(filter, lanes, world));
  const place = { after: next ?? '', counts, complete } satisfies z.infer<typeof cursorSchema>;
  const body: z.infer<typeof flaggedListSchema> = {
    flagged: jobs.map(({ job }) => operatorJobBody(job, view)),
    nextCursor: next === undefined ? null : await cursors.sign(JSON.stringify(place), purpose),
    counts,
    complete,
  };
  return answerJson(200, body, { requestId });
}

/** A cursor is of one list with one filter, for one purpose; the version before wrote others. */
export function flaggedPurpose({ tenant, lane, code, vendor }: FlaggedFilter, use: 'list' | 'settle' = 'list'): string {
  return JSON.stringify(['flagged/2', use, tenant, lane ?? null, code ?? null, vendor ?? null]);
}
