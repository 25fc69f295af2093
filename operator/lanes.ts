import { parseArgs } from 'node:util';
import * as z from 'zod';
import { laneListSchema, laneSchema, type LaneBody } from '../lambdas/http/operate-lanes.ts';
import { type OperatorApi, readAccess } from './operator-api.ts';
import { explainRefusal, realTerminal, runInTerminal, type ExitCode, type TerminalTool } from './terminal-tool.ts';
import { HelpWanted, UsageError } from './usage.ts';

const USAGE = `Shows and changes the lanes of a deployment, over its own API.

  npm run lanes -- list [--json]
  npm run lanes -- change <lane> [--cap 4] [--state open|paused] --reason "…" [--dry-run] [--json]

  --url, --key   or SLOWLANE_URL and SLOWLANE_KEY: a key with the scope \`operator\`
  --cap          at most so many jobs may be running at the vendor, up to the deployed ceiling; lowering it drains
  --state        paused: nothing begins, and nothing expires in the queue · open: also after the vendor refused our account
  --dry-run      shows the lane and what would be changed, and changes nothing`;

function readArguments(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        url: { type: 'string' },
        key: { type: 'string' },
        cap: { type: 'string' },
        state: { type: 'string' },
        reason: { type: 'string' },
        'dry-run': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The arguments are not readable');
  }
}

type Options = ReturnType<typeof readArguments>['values'];

/** @throws UsageError where the arguments make no sense, UnansweredError where the API does not answer. */
export async function manageLanes(argv: readonly string[], tool: TerminalTool): Promise<ExitCode> {
  const { values: options, positionals } = readArguments(argv);
  if (options.help) throw new HelpWanted();
  const [verb, lane, ...rest] = positionals;
  if (verb === 'help') throw new HelpWanted();
  if (rest.length > 0) throw new UsageError(`What is ${rest.join(' ')}?`);
  const { url, key } = readAccess(options, tool.variables);
  const api = tool.connect(url, key);
  switch (verb) {
    case 'list':
      return await list(api, options, tool);
    case 'change':
      if (lane === undefined) throw new UsageError('Which lane? `list` shows them');
      return await change(lane, api, options, tool);
    default:
      throw new UsageError('Say list or change');
  }
}

async function list(api: OperatorApi, { json }: Options, tool: TerminalTool): Promise<ExitCode> {
  const answer = await api.call({ method: 'GET', path: ['lanes'] }, laneListSchema);
  if (answer.kind === 'refused') return explainRefusal(answer.problem, tool);
  for (const lane of answer.value.lanes) print(lane, json, tool);
  return 0;
}

const wantedSchema = z.object({
  cap: z
    .string()
    .regex(/^\d{1,4}$/, { error: '--cap is a whole number' })
    .transform(Number)
    .optional(),
  state: z.enum(['open', 'paused'], { error: '--state is open or paused' }).optional(),
  reason: z.string({ error: 'Why? Say --reason: it is kept in the audit' }).trim().min(1),
});

function readWanted({ cap, state, reason }: Options): z.infer<typeof wantedSchema> {
  if (cap === undefined && state === undefined) throw new UsageError('Change what? Say --cap, --state or both');
  const read = wantedSchema.safeParse({ cap, state, reason });
  if (read.success) return read.data;
  throw new UsageError(read.error.issues[0]?.message ?? 'The arguments make no sense');
}

async function change(name: string, api: OperatorApi, options: Options, tool: TerminalTool): Promise<ExitCode> {
  const wanted = readWanted(options);
  if (options['dry-run']) return await foretell(name, wanted, api, options, tool);
  const answer = await api.call({ method: 'PATCH', path: ['lanes', name], body: wanted }, laneSchema);
  if (answer.kind === 'refused') return explainRefusal(answer.problem, tool);
  print(answer.value, options.json, tool);
  return 0;
}

async function foretell(
  name: string,
  { cap, state }: z.infer<typeof wantedSchema>,
  api: OperatorApi,
  { json }: Options,
  tool: TerminalTool,
): Promise<ExitCode> {
  const answer = await api.call({ method: 'GET', path: ['lanes'] }, laneListSchema);
  if (answer.kind === 'refused') return explainRefusal(answer.problem, tool);
  const lane = answer.value.lanes.find((each) => each.lane === name);
  if (lane === undefined) throw new UsageError(`There is no lane ${name}`);
  print(lane, json, tool);
  if (cap !== undefined && cap > lane.ceiling) {
    tool.explain(`The cap would be refused: the ceiling is ${lane.ceiling}. Nothing was changed.`);
    return 1;
  }
  const changes = [
    ...(cap === undefined ? [] : [`cap ${lane.cap} → ${cap}`]),
    ...(state === undefined ? [] : [`state ${lane.state} → ${state}`]),
  ];
  tool.explain(`Would change ${changes.join(', ')}. Nothing was changed.`);
  return 0;
}

function print(lane: LaneBody, json: boolean, tool: TerminalTool): void {
  if (json) return tool.print(JSON.stringify(lane));
  const { cap, ceiling, state, since, by, reason, inFlight, queued, restsUntil } = lane;
  tool.print(
    [
      lane.lane,
      since === null ? state : `${state} since ${since}`,
      `cap ${cap} of ${ceiling}`,
      `${inFlight} in flight`,
      `${queued} queued`,
      ...(restsUntil === null ? [] : [`rests until ${restsUntil}`]),
      `${by}: ${reason.replaceAll(/\s+/g, ' ')}`,
    ].join('\t'),
  );
}

if (import.meta.main) {
  process.exitCode = await runInTerminal(USAGE, realTerminal, (tool) => manageLanes(process.argv.slice(2), tool));
}
