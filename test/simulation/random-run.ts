import type { Settling } from '../../lambdas/domain/settle-flagged.ts';
import type { DedupeClass } from '../../lambdas/domain/vendor.ts';
import type { Report } from './explore.ts';
import { cancelAfter, changeLaneAfter, lane, settleAfter, submit } from './scenario.ts';
import { faultsOf, type Effect, type Fault } from './world/faults.ts';
import { Random } from './world/random.ts';
import { Simulation } from './world/simulation.ts';
import type { VendorSetup } from './world/simulated-vendor.ts';

const troubleMs = 12 * 60_000;
const healingMs = 30 * 60_000;

/**
 * Level B: a lane for some minutes of everything at once: faults at any effect, late answers, clocks that differ, late
 * indexes, and long outages, since many small faults never make one. Then nothing goes wrong any more, and everything has
 * to come to its end. The same seed is the same run.
 */
export async function randomRun(seed: number): Promise<Report> {
  const random = new Random(seed);
  const faultRate = random.pick([0.003, 0.02, 0.1]);
  const hasLatency = random.chance(0.8);
  const simulation: Simulation = new Simulation({
    vendors: [vendorOf(random)],
    caps: { [lane]: 1 + random.below(3) },
    plan: (effect) => faultAt(random, effect, faultRate),
    latencyMs: () => (hasLatency ? [random.below(60), random.below(60)] : [0, 0]),
    skewMs: () => random.below(4_800) - 2_400,
    indexLagMs: () => random.pick([0, 300, 3_000]),
    ringDelayMs: () => random.pick([5, 50, 2_000]),
    workerShiftMs: random.pick([60_000, 240_000]),
  });
  const begunAt = simulation.timeline.now();
  simulation.scheduleTicks(Math.ceil((troubleMs + healingMs) / 60_000), random.pick([1, 1, 2]));
  // One tick after the other dies: what is bound by nobody is judged in the end.
  simulation.watchdog.longestLeakMs = troubleMs;
  trouble(simulation, random);
  await simulation.timeline.runUntil(begunAt + troubleMs);
  heal(simulation);
  await simulation.timeline.runUntil(begunAt + troubleMs + healingMs);
  simulation.watchdog.judge();
  if (!simulation.isIdle) simulation.watchdog.say('6 ends', 'somebody is still at work');
  return { effects: simulation.effects, violations: simulation.watchdog.violations, simulation };
}

function vendorOf(random: Random): VendorSetup {
  const dedupe: DedupeClass = random.pick(['none', 'replay', 'reject', 'lookup', 'inflight']);
  const runMs = random.pick([800, 4_000, 25_000]);
  return {
    name: 'v',
    dedupe,
    runMs,
    pollMs: Math.max(500, Math.floor(runMs / 5)),
    isSynchronous: dedupe === 'none' && runMs <= 4_000 && random.chance(0.3),
    ends: random.chance(0.85) ? 'succeeded' : 'failed',
    ...(random.chance(0.4) ? { webhooks: 'reliable' as const } : {}),
    onCancel: random.pick(['obeys', 'goes_on']),
    listingLagMs: random.pick([0, 5_000, 9_900]),
  };
}

function faultAt(random: Random, effect: Effect, rate: number): Fault | undefined {
  if (!random.chance(rate)) return undefined;
  const faults = faultsOf[effect.kind];
  return faults[random.below(faults.length)];
}

function trouble(simulation: Simulation, random: Random): void {
  const ids = Array.from({ length: 3 + random.below(7) }, (_, nth) => `job${nth}`);
  const within = () => random.below(troubleMs - 60_000);
  ids.forEach((id) => {
    const at = random.chance(0.5) ? random.below(2_000) : within();
    simulation.timeline.after(at, () => submit(simulation, [id], 'v', { maxRunMs: 60_000 }));
    if (random.chance(0.2)) cancelAfter(simulation, at + random.below(40_000), id);
    if (random.chance(0.3)) personActs(simulation, random, id, at + random.below(200_000));
  });
  for (let outage = random.below(4); outage > 0; outage -= 1)
    goWrong(simulation, random, within(), random.below(240_000));
}

function personActs(simulation: Simulation, random: Random, id: string, delayMs: number): void {
  const action = random.pick<Settling['action']>(['resend', 'retake', 'fail', 'adopt']);
  settleAfter(simulation, delayMs, id, (): Settling | undefined => {
    const run = simulation.vendor('v').runsOf(id).at(-1);
    switch (action) {
      case 'adopt':
        return run?.key === `${id}.${simulation.jobOf(id)?.generation}` ? { action, vendorJobId: run.id } : undefined;
      case 'retake':
        return { action };
      default:
        return { action, notRunning: false };
    }
  });
}

/** Something is out for minutes on end. */
function goWrong(simulation: Simulation, random: Random, delayMs: number, forMs: number): void {
  const vendor = simulation.vendor('v');
  const between = (begin: () => void, end: () => void) => {
    simulation.timeline.after(delayMs, begin);
    simulation.timeline.after(delayMs + forMs, end);
  };
  switch (random.pick(['deaf', 'down', 'account', 'paused', 'cap'])) {
    case 'deaf':
      return between(
        () => void (simulation.isDeaf = true),
        () => void (simulation.isDeaf = false),
      );
    case 'down':
      return between(
        () => void (vendor.isDown = true),
        () => void (vendor.isDown = false),
      );
    case 'account':
      return between(
        () => void (vendor.accountIsGood = false),
        () => void (vendor.accountIsGood = true),
      );
    case 'paused':
      changeLaneAfter(simulation, delayMs, { state: 'paused' });
      return changeLaneAfter(simulation, delayMs + forMs, { state: 'open' });
    case 'cap':
      return changeLaneAfter(simulation, delayMs, { cap: 1 + random.below(3) });
  }
}

function heal(simulation: Simulation): void {
  simulation.stopFaults();
  simulation.isDeaf = false;
  const vendor = simulation.vendor('v');
  vendor.isDown = false;
  vendor.accountIsGood = true;
  // As a person would: opened once more than it may have been closed by somebody who was cut off.
  for (const delayMs of [1_000, 300_000, 600_000]) changeLaneAfter(simulation, delayMs, { state: 'open' });
}
