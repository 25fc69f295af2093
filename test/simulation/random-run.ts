import type { Settling } from '../../lambdas/domain/settle-flagged.ts';
import type { DedupeClass } from '../../lambdas/domain/vendor.ts';
import type { Report } from './explore.ts';
import { changeLaneAfter, lane, settleAfter } from './scenario.ts';
import { App } from './world/app.ts';
import { featureIn } from './world/feature.ts';
import { faultsOf, type Effect, type Fault } from './world/faults.ts';
import { Random } from './world/random.ts';
import { Simulation } from './world/simulation.ts';
import type { VendorSetup } from './world/simulated-vendor.ts';

const troubleMs = 12 * 60_000;
const healingMs = 30 * 60_000;

/** Long enough for every deadline that was set to be over. */
const restMs = 3 * 60_000;

/**
 * Level B: a lane for some minutes of everything at once: many owners who submit, follow and cancel, faults at any effect,
 * late answers, clocks that differ, late indexes, and long outages, since many small faults never make one. Then nothing
 * goes wrong any more, and everything has to come to its end and to stay there. The same seed is the same run.
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
  const apps = trouble(simulation, random);
  await simulation.timeline.runUntil(begunAt + troubleMs);
  heal(simulation);
  const endsAt = begunAt + troubleMs + healingMs;
  await simulation.timeline.runUntil(endsAt - restMs);
  for (const app of apps) app.close();
  await simulation.timeline.runUntil(endsAt - restMs + 60_000);
  const rested = stateOf(simulation);
  await simulation.timeline.runUntil(endsAt);
  if (stateOf(simulation) !== rested) simulation.watchdog.say('10 ticks', 'ticks change what is settled');
  simulation.watchdog.judge();
  await judgeApps(simulation, apps);
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

const feature = featureIn(lane, 60_000);

function trouble(simulation: Simulation, random: Random): readonly App[] {
  const catalogue = { named: () => feature, all: () => [feature] };
  const limits = { activeJobs: 1 + random.below(6), submitsPerMinute: 2 + random.below(10) };
  const apps = Array.from(
    { length: 1 + random.below(4) },
    (_, nth) => new App({ simulation, random: new Random(random.below(1e9)), user: `user${nth}`, catalogue, limits }),
  );
  simulation.onSent = (connectionId, message) =>
    void apps.find((app) => app.owns(connectionId))?.receive(connectionId, message);
  for (let action = 0, most = 3 + random.below(7); action < most; action += 1) {
    const app = apps[random.below(apps.length)] ?? apps[0];
    if (app !== undefined) actSomeTime(simulation, random, app, `tap-${action}`);
  }
  for (const app of apps) simulation.timeline.after(random.below(5_000), () => void app.follow());
  for (let outage = random.below(4); outage > 0; outage -= 1)
    goWrong(simulation, random, within(random), random.below(240_000));
  return apps;
}

const within = (random: Random) => random.below(troubleMs - 60_000);

/** One action, perhaps twice at once, perhaps once more when nobody expects it, and what people do with it. */
function actSomeTime(simulation: Simulation, random: Random, app: App, key: string): void {
  const at = random.chance(0.5) ? random.below(2_000) : within(random);
  const again = (delayMs: number, said = {}) =>
    simulation.timeline.after(delayMs, () => void app.act(key, feature.name, said));
  again(at);
  if (random.chance(0.3)) again(at + random.below(50));
  if (random.chance(0.2)) again(at + random.below(300_000));
  if (random.chance(0.2)) again(at + 20_000 + random.below(60_000), { other: true });
  if (random.chance(0.2)) simulation.timeline.after(at + random.below(40_000), () => app.cancel(key));
  if (random.chance(0.3)) personActs(simulation, random, app.idOf(key), at + random.below(200_000));
}

/** Whoever was told 2xx has a job, and comes back to the truth. */
async function judgeApps(simulation: Simulation, apps: readonly App[]): Promise<void> {
  for (const app of apps) {
    for (const id of app.accepted) {
      if (simulation.jobOf(id) === undefined) simulation.watchdog.say('6 ends', `${id} was accepted, and is gone`);
    }
    void app.connect();
  }
  await simulation.timeline.runUntil(simulation.timeline.now() + 5_000);
}

function stateOf({ jobs, lanes, announcements }: Simulation): string {
  const settled = jobs.all().map((job) => ({ ...job, checkAt: 0, followers: [] }));
  return JSON.stringify([settled, lanes.get(lane), announcements.length]);
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
