import { isTerminal } from '../../lambdas/domain/job.ts';
import { tickMs } from '../../lambdas/domain/timing.ts';
import {
  crashesOf,
  describeFault,
  faultsOf,
  noFaults,
  type Effect,
  type Fault,
  type FaultPlan,
} from './world/faults.ts';
import { Simulation } from './world/simulation.ts';
import type { Violation } from './world/watchdog.ts';
import { lane, type Scenario } from './scenario.ts';

export interface Report {
  readonly effects: readonly Effect[];
  readonly violations: readonly Violation[];
  readonly simulation: Simulation;
}

const most = 30 * 60_000;
const usualQuietMs = 5 * 60_000;

/**
 * One run of a scenario: until nothing moves any more, whatever went wrong at the planned effects. `endsAtRest`: as soon
 * as every job is at its end, instead of after some more ticks that find nothing to do. `faults`: how many are planned.
 */
export async function run(
  scenario: Scenario,
  plan: FaultPlan,
  { endsAtRest = false, faults = 1 }: { readonly endsAtRest?: boolean; readonly faults?: number } = {},
): Promise<Report> {
  const simulation = simulationOf(scenario, plan);
  const { timeline, watchdog } = simulation;
  const begunAt = timeline.now();
  simulation.scheduleTicks(40, scenario.overlap);
  scenario.begin(simulation);
  const isDone = () => endsAtRest && isAtRest(simulation);
  await timeline.runUntil(begunAt + (scenario.quietMs ?? usualQuietMs), isDone);
  // Settled looks the same before and after two more ticks for each fault, which may have been all that a tick did; what
  // never settles is judged as it stands.
  for (let seen = stateOf(simulation); timeline.now() < begunAt + most && !isDone();) {
    await timeline.runUntil(timeline.now() + 2 * tickMs * faults, isDone);
    const now = stateOf(simulation);
    if (now === seen && simulation.isIdle) break;
    seen = now;
  }
  if (timeline.now() >= begunAt + most) watchdog.say('10 ticks', 'ticks go on changing what is settled');
  watchdog.judge();
  scenario.judge?.(simulation);
  if (!simulation.isIdle) watchdog.say('6 ends', 'somebody is still at work');
  return { effects: simulation.effects, violations: watchdog.violations, simulation };
}

function simulationOf(scenario: Scenario, plan: FaultPlan): Simulation {
  const { latencyMs, indexLagMs, workerShiftMs, versionOf, createTables } = scenario;
  return new Simulation({
    vendors: scenario.vendors,
    caps: { [lane]: scenario.cap ?? 1 },
    plan: (effect) => plan(effect) ?? scenario.plan?.(effect),
    ...(workerShiftMs === undefined ? {} : { workerShiftMs }),
    ...(versionOf === undefined ? {} : { versionOf }),
    ...(createTables === undefined ? {} : { createTables }),
    ...(latencyMs === undefined ? {} : { latencyMs: () => [latencyMs, latencyMs] as const }),
    ...(indexLagMs === undefined ? {} : { indexLagMs: () => indexLagMs }),
  });
}

/** Nobody is at work, nothing is on its way, and every job is at its end, holds nothing and was announced. */
function isAtRest({ isIdle, timeline, jobs, lanes }: Simulation): boolean {
  return (
    isIdle &&
    timeline.isOver &&
    jobs
      .all()
      .every(({ state, hold, announce }) => isTerminal(state) && hold === undefined && announce === undefined) &&
    Object.keys(lanes.get(lane).held).length === 0
  );
}

function stateOf(simulation: Simulation): string {
  const jobs = simulation.jobs.all().map((job) => ({ ...job, checkAt: 0 }));
  const { announcements, evidenceAdded } = simulation;
  return JSON.stringify([jobs, simulation.lanes.get(lane), announcements.length, evidenceAdded]);
}

export interface Found {
  readonly scenario: string;
  readonly faults: readonly string[];
  readonly violations: readonly Violation[];
}

export interface Explored {
  runs: number;
  readonly found: Found[];
}

/** A fault at the nth effect of a run. */
interface Placed {
  readonly number: number;
  readonly fault: Fault;
}

interface First {
  readonly placed: Placed;
  readonly effects: readonly Effect[];
}

function planOf(placed: readonly Placed[]): FaultPlan {
  return (effect) => placed.find(({ number }) => number === effect.number)?.fault;
}

export interface Exploring {
  /** So many pairs of anything that can go wrong are tried besides. */
  readonly mostPairs: number;
  readonly pick: (below: number) => number;
  readonly stopAtFirst?: boolean;
}

/** At each effect, everything that can go wrong there; then two of them, as many pairs as `mostPairs`. */
export async function explore(scenario: Scenario, exploring: Exploring): Promise<Explored> {
  const explored: Explored = { runs: 0, found: [] };
  const clean = await tryOut(scenario, [], explored);
  checkClean(scenario, clean, explored);
  const firsts: First[] = [];
  for (const placed of placesIn(clean.effects, 0)) {
    if (exploring.stopAtFirst === true && explored.found.length > 0) return explored;
    const { effects } = await tryOut(scenario, [placed], explored);
    firsts.push({ placed, effects });
  }
  await samplePairs(scenario, firsts, exploring, explored);
  return explored;
}

async function samplePairs(
  scenario: Scenario,
  firsts: readonly First[],
  { mostPairs, pick, stopAtFirst }: Exploring,
  explored: Explored,
): Promise<void> {
  for (let pair = 0; pair < mostPairs && firsts.length > 0; pair += 1) {
    if (stopAtFirst === true && explored.found.length > 0) return;
    const first = firsts[pick(firsts.length)];
    if (first === undefined) return;
    const seconds = placesIn(first.effects, first.placed.number + 1);
    const second = seconds[pick(Math.max(1, seconds.length))];
    if (second !== undefined) await tryOut(scenario, [first.placed, second], explored);
  }
}

function placesIn(effects: readonly Effect[], from: number): readonly Placed[] {
  return effects.slice(from).flatMap(({ number, kind }) => faultsOf[kind].map((fault): Placed => ({ number, fault })));
}

/** One of `shares` equal parts of the work: those whose first crash is the nth, n modulo `shares` being `share`. */
export interface Share {
  readonly share: number;
  readonly shares: number;
}

/** Every crash at every effect, one at a time, each run ended as soon as it can be; or a share of them. */
export async function exploreCrashes(
  scenario: Scenario,
  { share, shares }: Share = { share: 0, shares: 1 },
): Promise<Explored> {
  const explored: Explored = { runs: 0, found: [] };
  const clean = await tryOut(scenario, [], explored);
  checkClean(scenario, clean, explored);
  for (const [nth, crash] of crashesIn(clean.effects, 0).entries()) {
    if (nth % shares === share) await tryOut(scenario, [crash], explored, true);
  }
  return explored;
}

/** Every crash at every effect, and after it every crash at every effect of what that made of the run. */
export async function exploreCrashPairs(
  scenario: Scenario,
  { share, shares }: Share = { share: 0, shares: 1 },
): Promise<Explored> {
  const explored: Explored = { runs: 0, found: [] };
  const clean = await run(scenario, noFaults);
  for (const [nth, first] of crashesIn(clean.effects, 0).entries()) {
    if (nth % shares !== share) continue;
    const { effects } = await run(scenario, planOf([first]));
    for (const second of crashesIn(effects, first.number + 1)) {
      await tryOut(scenario, [first, second], explored, true);
    }
  }
  return explored;
}

/**
 * To die before an effect is to die after the one that the same sandbox had before it, since nobody sees what it does
 * between the two: only before its first one this is a crash of its own.
 */
function crashesIn(effects: readonly Effect[], from: number): readonly Placed[] {
  const begun = new Set<string>();
  return effects.flatMap(({ number, kind, actor }) => {
    const isItsFirst = !begun.has(actor);
    begun.add(actor);
    if (number < from) return [];
    const faults: readonly Fault[] = [...(isItsFirst ? [{ kind: 'crash_before' } as const] : []), ...crashesOf[kind]];
    return faults.map((fault): Placed => ({ number, fault }));
  });
}

async function tryOut(
  scenario: Scenario,
  placed: readonly Placed[],
  explored: Explored,
  endsAtRest = false,
): Promise<Report> {
  const report = await run(scenario, planOf(placed), { endsAtRest, faults: Math.max(1, placed.length) });
  explored.runs += 1;
  if (report.violations.length > 0) {
    const faults = placed.map(({ number, fault }) =>
      describeFault(report.effects[number] ?? { number, what: 'never reached' }, fault),
    );
    explored.found.push({ scenario: scenario.name, faults, violations: report.violations });
  }
  return report;
}

/** With nothing going wrong, nothing is parked or retried: it simply ends as it should, each thing done once. */
function checkClean(scenario: Scenario, { simulation }: Report, explored: Explored): void {
  const violations: Violation[] = [];
  for (const job of simulation.jobs.all()) {
    const due = typeof scenario.ends === 'object' ? scenario.ends[job.id] : scenario.ends;
    if (due !== undefined && job.state !== due) {
      violations.push({ invariant: 'clean', what: `${job.id} ends ${job.state}, not ${due}` });
    }
  }
  const lastMs = Math.max(...simulation.jobs.all().map((job) => (job.finishedAt ?? 0) - job.createdAt));
  if (lastMs > (scenario.withinMs ?? Number.POSITIVE_INFINITY)) {
    violations.push({ invariant: 'clean', what: `the last job took ${lastMs} ms` });
  }
  for (const job of simulation.jobs.all()) {
    const isTold = simulation.messages.some(
      (message) => message.type === 'job' && message.job.id === job.id && message.job.state === job.state,
    );
    if (!isTold) violations.push({ invariant: '9 followers', what: `nobody was told that ${job.id} is ${job.state}` });
  }
  if (simulation.rings.deadLetters > 0) violations.push({ invariant: 'clean', what: 'a ring went unserved' });
  const said = scenario.check?.(simulation);
  if (said !== undefined) violations.push({ invariant: 'clean', what: said });
  for (const error of simulation.errors) violations.push({ invariant: 'clean', what: String(error) });
  if (violations.length > 0) explored.found.push({ scenario: scenario.name, faults: [], violations });
}
