import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { writeSection } from '../../bench/marked-section.ts';
import { expectStatus } from '../e2e/harness/api.ts';
import { Customers } from './customers.ts';
import { Mischief } from './mischief.ts';
import { Operator } from './operator.ts';
import { Random } from './random.ts';
import { reportOf } from './report.ts';
import { Scene } from './scene.ts';
import type { Calm } from './truth.ts';
import { untried, violations, type Books } from './verdict.ts';

/**
 * `npm run chaos -- --seconds 300 --jobs 200 --seed 1`: the local gateway under load, while its workers and itself are killed
 * and its vendor crashes, drops, stalls, throttles and falls silent. Then everything is well again, and the books are
 * compared. `--impatient` shortens the protocol's leases and deadlines, for a run of a minute or two; `--write` puts the
 * report into docs/benchmarks.md.
 */

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '300' },
    jobs: { type: 'string', default: '200' },
    upscale: { type: 'string', default: '0.1' },
    cap: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    impatient: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const { seconds, jobs, upscale, cap, seed, impatient, write } = z
  .object({
    seconds: z.coerce.number().positive(),
    jobs: z.coerce.number().int().positive(),
    upscale: z.coerce.number().min(0).max(1),
    cap: z.coerce.number().int().positive(),
    seed: z.coerce.number().int().nonnegative(),
    impatient: z.boolean(),
    write: z.boolean(),
  })
  .parse(values);

/** How often the person on call looks, and the customers do. */
const roundMs = 2_000;
/** More would be the load that is measured. */
const looksPerRound = 20;
/** Without any end for so long, something is stuck: what the protocol does by itself takes a few intervals at most. */
const stuckIntervals = 8;
/** The last taps come before the last blow, so that it finds their jobs at work. */
const tapShare = 0.97;

const scene = await Scene.open({ impatient });
try {
  process.exitCode = await run(scene);
} finally {
  await scene.close();
}

async function run(scene: Scene): Promise<number> {
  expectStatus(await scene.api.changeLane({ cap }), 200);
  console.log(`${jobs} jobs, ${upscale * 100} % upscale, ${seconds} s of chaos, cap ${cap}, seed ${seed}`);
  const customers = new Customers(scene, new Random(seed));
  const mischief = new Mischief(scene, customers, new Random(seed + 1));
  const operator = new Operator(scene);
  const onDuty = new AbortController();
  const duty = watch(customers, operator, onDuty.signal);

  const taps = { jobs, upscaleShare: upscale, durationMs: seconds * 1_000 * tapShare };
  await Promise.all([customers.tap(taps), mischief.until(performance.now() + seconds * 1_000)]);
  await mischief.lastBlow();
  const calm = calmFrom(Date.now(), scene);
  console.log('The faults are over.');
  await settle(scene, customers);
  // What is not at its end two intervals later never gets there by itself.
  await pause(2 * scene.pace.intervalMs);
  onDuty.abort();
  await duty;

  const books = await readBooks(scene, customers, mischief, operator, calm);
  const report = reportOf({ books, seed, seconds, settled: operator.settled });
  console.log(report);
  if (write) await writeSection(path.resolve(import.meta.dirname, '../../docs/benchmarks.md'), 'chaos', report);
  return tell('broken promise', [...customers.complaints, ...violations(books)]) + tell('not tried', untried(books));
}

function calmFrom(fromMs: number, { pace }: Scene): Calm {
  const { intervalMs, tickTakesMs, orphanedMs } = pace;
  return { fromMs, orphansKnownMs: fromMs + orphanedMs, intervalMs, tickTakesMs };
}

async function readBooks(
  scene: Scene,
  customers: Customers,
  { crashes, struck }: Mischief,
  { acts }: Operator,
  calm: Calm,
): Promise<Books> {
  const jobs = await customers.look();
  const [ledger, events, lane] = await Promise.all([scene.studio.ledger(), scene.runtime.events(), scene.api.lane()]);
  const { actions } = customers;
  return { actions, jobs, ledger, events, cap, held: lane.inFlight, acts, calm, crashes, struck: struck.counts };
}

/** @returns 1 where there is anything to tell. */
function tell(what: string, found: readonly string[]): 0 | 1 {
  for (const one of found) console.log(`${what}: ${one}`);
  return found.length === 0 ? 0 : 1;
}

/** The person on call and the customers look on, whether or not anybody answers. */
async function watch(customers: Customers, operator: Operator, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await customers.look(looksPerRound);
    // Down, it is looked at again in the next round.
    await operator.round().catch(() => undefined);
    await pause(roundMs);
  }
}

/** Waits for every job's end, unless none comes any more. */
async function settle(scene: Scene, customers: Customers): Promise<void> {
  const stuckMs = stuckIntervals * scene.pace.intervalMs + scene.pace.sendIsOverMs;
  let left = Infinity;
  for (let endedAtMs = performance.now(); left > 0 && performance.now() - endedAtMs < stuckMs;) {
    await pause(roundMs);
    const seen = await customers.look(looksPerRound);
    const leftNow = customers.actions.length - seen.filter(({ done }) => done).length;
    if (leftNow < left) endedAtMs = performance.now();
    left = leftNow;
  }
}
