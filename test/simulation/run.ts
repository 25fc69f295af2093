import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import type { Found } from './explore.ts';
import { perform, plannedTasks, type LevelReport, type Task } from './levels.ts';
import { performAll } from './threads.ts';

/**
 * `npm run simulate -- --seconds 60 --seed 7`: everything that can go wrong at each effect of each scenario, and each
 * scenario with all events lost, both over the fakes and over the real adapters (`--tables memory` or `dynamo`: over one
 * of them); every pair of crashes (`--pairs 100`: so many random pairs of anything instead); then random runs for so many
 * seconds. With `SEED=<n>` in the environment only that one random run, to look at it again. Exits 1 where anything was
 * violated. It takes some 25 minutes on two cores, and tells how far it is.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    pairs: { type: 'string', default: 'all' },
    threads: { type: 'string', default: `${availableParallelism()}` },
    'until-caught': { type: 'boolean', default: false },
    first: { type: 'string', default: '' },
    tables: { type: 'string', default: 'both' },
  },
});
const replayed = process.env['SEED'];
const { seconds, seed, pairs, threads, first, tables } = z
  .object({
    seconds: z.coerce.number().nonnegative(),
    seed: z.coerce.number().int().nonnegative(),
    pairs: z.literal('all').or(z.coerce.number().int().nonnegative()),
    threads: z.coerce.number().int().positive(),
    first: z.string(),
    tables: z.enum(['memory', 'dynamo', 'both']),
  })
  .parse({ ...values, seed: replayed ?? values.seed ?? Date.now() % 1_000_000_000 });

const everyMs = 15_000;
let runs = 0;
let violated = 0;
let nextSeed = seed;
let toldAt = Date.now();

function tell({ scenario, faults, violations }: Found): void {
  const what = violations.map(({ invariant, what }) => `${invariant}: ${what}`).join('; ');
  console.log(`  ${scenario}, after ${faults.join(' and ') || 'nothing went wrong'}\n    ${what}`);
}

function take(report: LevelReport): void {
  runs += report.runs;
  violated += report.found.length;
  report.found.slice(0, 5).forEach(tell);
  if (Date.now() - toldAt < everyMs) return;
  toldAt = Date.now();
  console.log(`${runs} runs so far, ${violated} violations, at ${report.level}`);
}

function* randomRuns(isOver: () => boolean): Generator<Task> {
  do {
    yield { level: 'B', seed: nextSeed };
    nextSeed += 1;
  } while (!isOver());
}

/** For a planted bug: one thread, one order, until something catches it. What it prints is read by who started it. */
async function untilCaught(tasks: Iterable<Task>): Promise<boolean> {
  for (const task of tasks) {
    const { level, found } = await perform(task, { stopAtFirst: true });
    const [first] = found;
    if (first === undefined) continue;
    const [violation] = first.violations;
    console.log(
      JSON.stringify({ level, invariant: violation?.invariant, what: violation?.what, faults: first.faults }),
    );
    return true;
  }
  return false;
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], {
      encoding: 'utf8',
      cwd: import.meta.dirname,
    }).trim();
  } catch {
    return 'unknown';
  }
}

const planned = replayed === undefined ? plannedTasks({ seed, pairs, first, tables }) : [];
if (values['until-caught']) {
  const startsAt = Date.now();
  const isCaught =
    (await untilCaught(planned)) ||
    (tables !== 'dynamo' && (await untilCaught(randomRuns(() => Date.now() >= startsAt + seconds * 1_000))));
  process.exit(isCaught ? 1 : 0);
}
await performAll(planned.values(), threads, take);
const endsAt = Date.now() + seconds * 1_000;
await performAll(
  randomRuns(() => replayed !== undefined || Date.now() >= endsAt),
  threads,
  take,
);
console.log(`${runs} runs explored, ${violated} violations, seeds ${seed}–${nextSeed - 1}, commit ${commit()}`);
process.exitCode = violated === 0 ? 0 : 1;
