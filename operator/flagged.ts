import { parseArgs } from 'node:util';
import * as z from 'zod';
import { flaggedListSchema } from '../lambdas/http/list-flagged.ts';
import { operatorJobReadSchema } from '../lambdas/http/operate-jobs.ts';
import { settledSchema } from '../lambdas/http/settled.ts';
import { settledManySchema } from '../lambdas/http/settle-many.ts';
import { type OperatorApi, readAccess } from './operator-api.ts';
import { shownJob, shownLine } from './shown-job.ts';
import { explainRefusal, realTerminal, runInTerminal, type ExitCode, type TerminalTool } from './terminal-tool.ts';
import { HelpWanted, UsageError } from './usage.ts';

const USAGE = `Shows and settles the jobs that wait for a person, over the deployment's own API.

  npm run flagged -- list [--lane L] [--code C] [--vendor V] [--limit 50] [--json]
  npm run flagged -- show <job> [--json]
  npm run flagged -- adopt  <job> --vendor-job <id> --reason "…"    the vendor has it, under this id
  npm run flagged -- retake <job> --reason "…"                      the same key again, never a second purchase
  npm run flagged -- resend <job> --reason "…" [--not-running]      a new purchase, once the old one can't be running
  npm run flagged -- fail   <job> --reason "…" [--not-running]      ends it for its user
  npm run flagged -- settle <retake|resend|fail> [filters] --reason "…" --dry-run | --yes

  --url, --key    or SLOWLANE_URL and SLOWLANE_KEY: a key with the scope \`operator\`; it reaches its tenant's jobs
  --generation    the one that you saw (\`list\` shows it): refused if the job was resent since. Else the present one
  --not-running   you vouch that nothing of it runs at the vendor. Wrong, it may be paid for twice
  --dry-run       says what would happen, and changes nothing`;

const pageSize = 50;

function readArguments(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        url: { type: 'string' },
        key: { type: 'string' },
        lane: { type: 'string' },
        code: { type: 'string' },
        vendor: { type: 'string' },
        limit: { type: 'string', default: String(pageSize) },
        generation: { type: 'string' },
        reason: { type: 'string' },
        'vendor-job': { type: 'string' },
        'not-running': { type: 'boolean', default: false },
        'dry-run': { type: 'boolean', default: false },
        yes: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The arguments are not readable');
  }
}

type Options = ReturnType<typeof readArguments>['values'];

interface Session {
  readonly api: OperatorApi;
  readonly options: Options;
  readonly tool: TerminalTool;
}

/** @throws UsageError where the arguments make no sense, UnansweredError where the API does not answer. */
export async function manageFlagged(argv: readonly string[], tool: TerminalTool): Promise<ExitCode> {
  const { values: options, positionals } = readArguments(argv);
  if (options.help) throw new HelpWanted();
  const [verb, subject, ...rest] = positionals;
  if (verb === 'help') throw new HelpWanted();
  if (rest.length > 0) throw new UsageError(`What is ${rest.join(' ')}?`);
  const { url, key } = readAccess(options, tool.variables);
  const session: Session = { api: tool.connect(url, key), options, tool };
  switch (verb) {
    case 'list':
      return await list(session);
    case 'show':
      return await show(named(subject), session);
    case 'adopt':
    case 'retake':
    case 'resend':
    case 'fail':
      return await settleOne(verb, named(subject), session);
    case 'settle':
      return await settleMany(subject, session);
    default:
      throw new UsageError('Say list, show, adopt, retake, resend, fail or settle');
  }
}

function named(job: string | undefined): string {
  if (job === undefined) throw new UsageError('Which job? `list` shows their ids');
  return job;
}

function numberOf(text: string, option: string): number {
  const number = z.coerce.number().int().positive().safeParse(text);
  if (number.success) return number.data;
  throw new UsageError(`--${option} is a number from 1 on`);
}

function reasonOf({ reason }: Options): string {
  if (reason === undefined || reason.trim() === '') throw new UsageError('Why? Say --reason: it is kept in the audit');
  return reason;
}

async function list({ api, options, tool }: Session): Promise<ExitCode> {
  const { lane, code, vendor } = options;
  const wanted = numberOf(options.limit, 'limit');
  let cursor: string | undefined;
  let shown = 0;
  for (;;) {
    const query = { lane, code, vendor, cursor, limit: String(Math.min(pageSize, wanted - shown)) };
    const answer = await api.call({ method: 'GET', path: ['flagged'], query }, flaggedListSchema);
    if (answer.kind === 'refused') return explainRefusal(answer.problem, tool);
    const { flagged, nextCursor, counts, complete } = answer.value;
    for (const job of flagged) tool.print(options.json ? JSON.stringify(job) : shownLine(job));
    shown += flagged.length;
    if (nextCursor !== null && shown < wanted) {
      cursor = nextCursor;
      continue;
    }
    const causes = Object.entries(counts).map(([cause, count]) => `${count} ${cause}`);
    const total = causes.length === 0 ? 'No job waits for a person.' : `${causes.join(', ')}.`;
    tool.explain(
      [total, ...(complete ? [] : ['There are more.']), ...(nextCursor === null ? [] : ['Not all are shown.'])].join(
        ' ',
      ),
    );
    return 0;
  }
}

async function show(job: string, { api, options, tool }: Session): Promise<ExitCode> {
  const answer = await api.call({ method: 'GET', path: ['jobs', job] }, operatorJobReadSchema);
  if (answer.kind === 'refused') return explainRefusal(answer.problem, tool);
  if (options.json) tool.print(JSON.stringify(answer.raw, undefined, 2));
  else for (const line of shownJob(answer.value)) tool.print(line);
  return 0;
}

async function settleOne(
  action: 'adopt' | 'retake' | 'resend' | 'fail',
  job: string,
  { api, options, tool }: Session,
): Promise<ExitCode> {
  const reason = reasonOf(options);
  const vendorJobId = options['vendor-job'];
  if (action === 'adopt' && vendorJobId === undefined) throw new UsageError('Which of the vendor’s? Say --vendor-job');
  const generation = await generationOf(job, { api, options, tool });
  if (generation === undefined) return 1;
  const dryRun = options['dry-run'];
  const notRunning = action === 'resend' || action === 'fail' ? { notRunning: options['not-running'] } : {};
  const adopted = action === 'adopt' ? { vendorJobId } : {};
  const body = { reason, generation, dryRun, ...notRunning, ...adopted };
  const answer = await api.call({ method: 'POST', path: ['jobs', job, action], body }, settledSchema);
  if (answer.kind === 'refused') return explainRefusal(answer.problem, tool);
  tool.print(options.json ? JSON.stringify(answer.value.job) : shownLine(answer.value.job));
  tool.explain(dryRun ? 'Nothing stands against it. Nothing was changed.' : `Done: ${answer.value.job.job.status}.`);
  return 0;
}

async function generationOf(job: string, { api, options, tool }: Session): Promise<number | undefined> {
  if (options.generation !== undefined) return numberOf(options.generation, 'generation');
  const answer = await api.call({ method: 'GET', path: ['jobs', job] }, operatorJobReadSchema);
  if (answer.kind === 'answered') return answer.value.job.generation;
  explainRefusal(answer.problem, tool);
  return undefined;
}

async function settleMany(action: string | undefined, { api, options, tool }: Session): Promise<ExitCode> {
  if (action !== 'retake' && action !== 'resend' && action !== 'fail') {
    throw new UsageError('Say settle retake, settle resend or settle fail');
  }
  const { lane, code, vendor, yes, 'dry-run': dryRun } = options;
  if (dryRun === yes) throw new UsageError('Say --dry-run first, and --yes once it says what you want');
  const reason = reasonOf(options);
  const notRunning = action === 'retake' ? {} : { notRunning: options['not-running'] };
  const order = { action, reason, dryRun, filter: { lane, code, vendor }, limit: pageSize, ...notRunning };
  const outcomes = new Map<string, number>();
  let cursor: string | undefined;
  do {
    const body = { ...order, ...(cursor === undefined ? {} : { cursor }) };
    const answer = await api.call({ method: 'POST', path: ['flagged', 'settle'], body }, settledManySchema);
    if (answer.kind === 'refused') return explainRefusal(answer.problem, tool);
    for (const result of answer.value.results) {
      const { jobId, outcome, allowedFrom, detail } = result;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      const more = [allowedFrom === null ? [] : `from ${allowedFrom}`, detail ?? []].flat();
      tool.print(options.json ? JSON.stringify(result) : [jobId, outcome, ...more].join('\t'));
    }
    cursor = answer.value.nextCursor ?? undefined;
  } while (cursor !== undefined);
  const told = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`);
  tool.explain(told.length === 0 ? 'No job matches.' : `${told.join(', ')}.`);
  return [...outcomes.keys()].every((outcome) => outcome === 'done' || outcome === 'would') ? 0 : 1;
}

if (import.meta.main) {
  process.exitCode = await runInTerminal(USAGE, realTerminal, (tool) => manageFlagged(process.argv.slice(2), tool));
}
