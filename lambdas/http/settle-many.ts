import * as z from 'zod';
import type { Job } from '../domain/job.ts';
import { flaggedAt, listFlagged, type FlaggedFilter } from '../domain/list-flagged.ts';
import { settleFlagged, type Settling } from '../domain/settle-flagged.ts';
import { answerJson, answerProblem, type HttpAnswer } from './answer.ts';
import { flaggedPurpose, type OperateJobsSettings } from './list-flagged.ts';
import { actorOf } from './operator-job.ts';
import { readJsonBody, type AuthenticatedRequest } from './request.ts';
import { settleManyBody, type SettleMany } from './settle-bodies.ts';
import { refusalOf, type RefusedOrder } from './settled.ts';

const outcomes = [
  'done',
  'would',
  'job_not_found',
  'job_moved_on',
  'still_may_run',
  'retake_not_possible',
  'vendor_job_unknown',
  'vendor_job_taken',
  'vendor_unreachable',
  'vendor_not_configured',
  'unavailable',
] as const satisfies readonly ('done' | 'would' | 'unavailable' | RefusedOrder['code'])[];

const resultSchema = z.object({
  jobId: z.string(),
  generation: z.int().positive(),
  outcome: z
    .enum(outcomes)
    .describe('`done`, `would` (dry run), or the code with which the same order about this job alone is refused.'),
  allowedFrom: z.iso.datetime().nullable().describe('With `still_may_run`: from when on it is allowed, if ever.'),
  detail: z.string().nullable(),
});
type Result = z.infer<typeof resultSchema>;

export const settledManySchema = z.object({
  dryRun: z.boolean(),
  results: z.array(resultSchema).describe('Oldest first.'),
  nextCursor: z.string().nullable().describe('Not null: there are more. Send the same body with it as `cursor`.'),
});

/** No job is begun later than this after the first: one may take as long as the vendor's answer and its picture do. */
const beginWithinMs = 10_000;

/** `POST /api/v1/operator/flagged/settle`: the same order for each job that a filter names, one after the other. */
export async function settleMany(request: AuthenticatedRequest, settings: OperateJobsSettings): Promise<HttpAnswer> {
  const { event, requestId, principal } = request;
  const read = readJsonBody(event, settleManyBody);
  if (read.kind === 'refused') return answerProblem(read.refusal, { requestId });
  const { cursors, world, lanes } = settings;
  const { filter: sent, cursor: signed, limit, dryRun } = read.value;
  const filter: FlaggedFilter = { tenant: principal.tenant, lane: sent.lane, code: sent.code, vendor: sent.vendor };
  const purpose = flaggedPurpose(filter, 'settle');
  const cursor = signed === undefined ? undefined : await cursors.read(signed, purpose);
  if (signed !== undefined && cursor === undefined) return answerProblem({ code: 'cursor_invalid' }, { requestId });
  const { until, place } = cursor === undefined ? { until: world.clock.now(), place: undefined } : readCursor(cursor);
  const { jobs: listed, next } = await listFlagged(filter, { cursor: place, limit }, lanes, world);
  const meant = listed.filter(({ job }) => isMeant(job, sent.code, until));
  const jobs = meant.map(({ job }) => job);
  const results = await settleEach(jobs, read.value, request, settings);
  const last = meant[results.length - 1];
  const goesOnAt = results.length < jobs.length && last !== undefined ? last.after : next;
  const body: z.infer<typeof settledManySchema> = {
    dryRun,
    results,
    nextCursor: goesOnAt === undefined ? null : await cursors.sign(`${until} ${goesOnAt}`, purpose),
  };
  return answerJson(200, body, { requestId });
}

/**
 * What was flagged only after the order began is another case: else a purchase that is lost again would be bought again
 * by the same order. What a person failed before is settled, and meant only where it is named.
 */
function isMeant(job: Job, code: string | undefined, until: number): boolean {
  return flaggedAt(job) <= until && (code !== undefined || job.state === 'needs_attention');
}

/** When the order began, and the place at which it goes on. */
function readCursor(cursor: string): { readonly until: number; readonly place: string } {
  const space = cursor.indexOf(' ');
  return { until: Number(cursor.slice(0, space)), place: cursor.slice(space + 1) };
}

async function settleEach(
  jobs: readonly Job[],
  body: SettleMany,
  request: AuthenticatedRequest,
  settings: OperateJobsSettings,
): Promise<Result[]> {
  const { clock, feed } = settings.world;
  const until = clock.now() + beginWithinMs;
  const results: Result[] = [];
  for (const job of jobs) {
    if (clock.now() > until) break;
    results.push(await settleOne(job, body, request, settings));
  }
  await feed.flush();
  return results;
}

async function settleOne(
  { id: jobId, generation }: Job,
  body: SettleMany,
  { principal, log }: AuthenticatedRequest,
  { world, view }: OperateJobsSettings,
): Promise<Result> {
  const { reason, dryRun, action } = body;
  const order = { jobId, generation, reason, actor: actorOf(principal), settling: settlingOf(body), dryRun };
  const about = log.about({ jobId });
  const result = { jobId, generation, allowedFrom: null, detail: null };
  try {
    const settled = await settleFlagged(world, order);
    about.write('operator_acted', { reason: action, keyId: principal.keyId, generation, outcome: settled.kind });
    if (settled.kind === 'done' || settled.kind === 'would') return { ...result, outcome: settled.kind };
    const { code, detail = null } = await refusalOf(settled, principal.tenant, { jobs: world.jobs, view });
    const from = settled.kind === 'still_may_run' ? settled.allowedFrom : undefined;
    return { ...result, outcome: code, detail, allowedFrom: from === undefined ? null : new Date(from).toISOString() };
  } catch (error) {
    // The others' outcomes must be told, whatever broke at this one.
    about.write('settling_failed', { error });
    return { ...result, outcome: 'unavailable', detail: 'It is not known whether this took effect: look at it again.' };
  }
}

function settlingOf(body: SettleMany): Settling {
  switch (body.action) {
    case 'retake':
      return { action: 'retake' };
    case 'resend':
      return { action: 'resend', notRunning: body.notRunning };
    case 'fail':
      return { action: 'fail', notRunning: body.notRunning };
    default:
      return body satisfies never;
  }
}
