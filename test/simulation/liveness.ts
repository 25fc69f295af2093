import { cantBeRunningFrom, quarantineEnd } from '../../lambdas/domain/money-rule.ts';
import type { Job } from '../../lambdas/domain/job.ts';
import { tickMs } from '../../lambdas/domain/timing.ts';
import type { Explored } from './explore.ts';
import { lane, type Scenario } from './scenario.ts';
import { describeFault, type Fault, type FaultPlan } from './world/faults.ts';
import { Simulation } from './world/simulation.ts';

/** What a tick takes for itself. */
const slackMs = 10_000;
const longMs = 6 * 60_000;

/**
 * Level C: the worker dies at one effect, and from then on nobody hears anything: no ring, no webhook. Only the ticks go
 * on, and each job has to be at its truth within one interval of when it can be known.
 */
export async function exploreLiveness(scenario: Scenario): Promise<Explored> {
  const explored: Explored = { runs: 0, found: [] };
  const clean = await runDeaf(scenario, () => undefined, undefined);
  for (const effect of clean.effects) {
    if (!effect.actor.startsWith('worker')) continue;
    for (const fault of deathsAt(effect.kind)) {
      const simulation = await runDeaf(scenario, () => fault, effect.number);
      explored.runs += 1;
      const { violations } = simulation.watchdog;
      if (violations.length === 0) continue;
      explored.found.push({ scenario: `deaf: ${scenario.name}`, faults: [describeFault(effect, fault)], violations });
    }
  }
  return explored;
}

function deathsAt(kind: string): readonly Fault[] {
  if (kind === 'send') {
    return [{ kind: 'crash_before' }, { kind: 'crash_after' }, { kind: 'crash_late', delayMs: 4_500 }];
  }
  if (kind === 'write' || kind === 'ring') return [{ kind: 'crash_before' }, { kind: 'crash_after' }];
  return kind === 'ask' ? [{ kind: 'crash_before' }] : [];
}

async function runDeaf(scenario: Scenario, fault: FaultPlan, at: number | undefined): Promise<Simulation> {
  const plan: FaultPlan = (effect) => {
    if (effect.number !== at) return undefined;
    simulation.isDeaf = true;
    return fault(effect);
  };
  const simulation: Simulation = new Simulation({
    vendors: scenario.vendors,
    caps: { [lane]: scenario.cap ?? 1 },
    plan,
    ...(scenario.createTables === undefined ? {} : { createTables: scenario.createTables }),
  });
  const begunAt = simulation.timeline.now();
  simulation.scheduleTicks(longMs / tickMs);
  scenario.begin(simulation);
  const answeredSince = new Map<string, number>();
  for (let second = 0; second < longMs / 5_000; second += 1) {
    await simulation.timeline.runUntil(begunAt + second * 5_000);
    noteSilence(simulation, answeredSince);
    if (simulation.isDeaf) lookForLate(simulation, answeredSince);
  }
  return simulation;
}

/** What a vendor knows can be known only while it answers. */
function noteSilence(simulation: Simulation, answeredSince: Map<string, number>): void {
  for (const [name, { isDown }] of simulation.vendors) if (isDown) answeredSince.set(name, simulation.timeline.now());
}

function lookForLate(simulation: Simulation, answeredSince: ReadonlyMap<string, number>): void {
  const now = simulation.timeline.now();
  for (const job of simulation.jobs.all()) {
    const due = dueAt(simulation, job);
    const answered = answeredSince.get(job.vendor) ?? 0;
    if (due !== undefined && now > Math.max(due, answered) + tickMs + slackMs) {
      simulation.watchdog.say('7 truth', `${job.id} is ${job.state}, and its truth could be known for an interval`);
    }
  }
}

/** From when on a tick has all that it needs to settle the job, or to free what it holds. Absent: nothing to settle. */
function dueAt(simulation: Simulation, job: Job): number | undefined {
  const vendor = simulation.vendor(job.vendor);
  if (vendor.hasForgotten || vendor.setup.unfetchable !== undefined) return undefined;
  const run = vendor.runs.find(({ key }) => key === `${job.id}.${job.generation}`);
  const endedAt = run?.endedAt;
  const canFind = vendor.traits.dedupe === 'lookup' || vendor.traits.dedupe === 'reject';
  switch (job.state) {
    case 'dispatching':
      // Only a worker sends, and none hears of it: until the budget of its sends is over it waits for one.
      if (vendor.traits.dedupe === 'replay') return undefined;
      return Math.max(job.dispatchBy, endedAt ?? 0);
    case 'running':
      return endedAt === undefined ? job.runUntil : Math.max(endedAt, job.watchUntil ?? 0);
    case 'needs_attention': {
      const isKnown = job.vendorJobId !== undefined || (canFind && run !== undefined);
      if (isKnown && endedAt !== undefined) return Math.max(endedAt, quarantineEnd(job, vendor.traits));
      return job.hold === undefined ? undefined : cantBeRunningFrom(job, vendor.traits);
    }
    case 'queued':
    case 'succeeded':
    case 'failed':
    case 'canceled':
      return undefined;
    default:
      return job satisfies never;
  }
}
