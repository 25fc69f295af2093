import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import type { JobBody } from '../../lambdas/http/job-body.ts';
import { expectStatus } from '../e2e/harness/api.ts';
import { Customers } from './customers.ts';
import { Mischief } from './mischief.ts';
import { Operator } from './operator.ts';
import { Random } from './random.ts';
import { Scene } from './scene.ts';
import { violations } from './verdict.ts';

/**
 * `npm run chaos -- --seconds 300 --jobs 200 --seed 1`: the local gateway under load, while its workers and itself are killed
 * and its vendor crashes, drops, stalls, throttles and falls silent. Then everything is well again, and the books are
 * compared. `--impatient` shortens the protocol's leases and deadlines, for a run of a minute or two.
 */

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '300' },
    jobs: { type: 'string', default: '200' },
    cap: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    impatient: { type: 'boolean', default: false },
  },
});
const { seconds, jobs, cap, seed, impatient } = z
  .object({
    seconds: z.coerce.number().positive(),
    jobs: z.coerce.number().int().positive(),
    cap: z.coerce.number().int().positive(),
    seed: z.coerce.number().int().nonnegative(),
    impatient: z.boolean(),
  })
  .parse(values);

/** How often the person on call looks, and the customers do. */
const roundMs = 2_000;
/** After that, something is stuck: what the protocol does by itself takes a few intervals at most. */
const settleIntervals = 8;

const scene = await Scene.open({ impatient });
try {
  process.exitCode = await run(scene);
} finally {
  await scene.close();
}

async function run(scene: Scene): Promise<number> {
  expectStatus(await scene.api.changeLane({ cap }), 200);
  console.log(`${jobs} jobs, ${seconds} s of chaos, cap ${cap}, seed ${seed}`);
  const customers = new Customers(scene, new Random(seed));
  const mischief = new Mischief(scene, new Random(seed + 1));
  const operator = new Operator(scene);
  const onDuty = new AbortController();
  const duty = watch(customers, operator, onDuty.signal);

  const endMs = performance.now() + seconds * 1000;
  await Promise.all([customers.tap(jobs, seconds * 700), mischief.until(endMs)]);
  await scene.studio.clearFaults();
  console.log('The faults are over.');
  const left = await settle(scene, customers);
  // What is not at its end two intervals later never gets there by itself.
  await pause(2 * scene.pace.intervalMs);
  onDuty.abort();
  await duty;

  const seen = await customers.look();
  const [ledger, events, lane] = await Promise.all([scene.studio.ledger(), scene.runtime.events(), scene.api.lane()]);
  const books = { actions: customers.actions, jobs: seen, ledger, events, cap, held: lane.inFlight };
  const broken = [...customers.complaints, ...violations(books)];
  report(seen, mischief, operator);
  console.log(
    `vendor: ${ledger.accepted.length} accepted in ${ledger.posts} posts, at most ${ledger.maxInFlight} at once`,
  );
  console.log(`${left} not at their end when waiting for them ended; ${broken.length} broken promises`);
  for (const one of broken) console.log(`  ${one}`);
  return broken.length === 0 ? 0 : 1;
}

/** The person on call and the customers look on, whether or not anybody answers. */
async function watch(customers: Customers, operator: Operator, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await customers.look();
    // Down, it is looked at again in the next round.
    await operator.round().catch(() => undefined);
    await pause(roundMs);
  }
}

/** @returns how many jobs are still not at their end. */
async function settle(scene: Scene, customers: Customers): Promise<number> {
  const untilMs = performance.now() + settleIntervals * scene.pace.intervalMs + scene.pace.sendIsOverMs;
  for (;;) {
    const unfinished = (await customers.look()).filter(({ done }) => !done).length;
    const unseen = customers.actions.length - (await customers.look()).length;
    if (unfinished + unseen === 0 || performance.now() > untilMs) return unfinished + unseen;
    await pause(roundMs);
  }
}

function report(seen: readonly JobBody[], mischief: Mischief, operator: Operator): void {
  const counts = new Map<string, number>();
  for (const { feature, status } of seen) {
    counts.set(`${feature} ${status}`, (counts.get(`${feature} ${status}`) ?? 0) + 1);
  }
  const list = (of: ReadonlyMap<string, number>) => [...of].map(([what, count]) => `${count} ${what}`).join(', ');
  console.log(`jobs: ${list(counts)}`);
  console.log(`chaos: ${list(mischief.counts)}`);
  const { adopted, resent, ended } = operator.settled;
  console.log(`operator: ${adopted} adopted, ${resent} bought anew, ${ended} ended`);
}
