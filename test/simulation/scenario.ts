import { cancelJob } from '../../lambdas/domain/cancel-job.ts';
import { changeLane } from '../../lambdas/domain/change-lane.ts';
import { settleFlagged, type Settling } from '../../lambdas/domain/settle-flagged.ts';
import type { FaultPlan } from './world/faults.ts';
import type { Setup } from './world/setup.ts';
import type { VendorSetup } from './world/simulated-vendor.ts';
import type { Simulation } from './world/simulation.ts';
import { submittedJob } from './world/submitted-job.ts';
import { retentionMs } from './world/world-of.ts';

type Ends = 'succeeded' | 'failed' | 'canceled' | 'needs_attention';

export interface Scenario {
  readonly name: string;
  readonly vendors: readonly VendorSetup[];
  readonly cap?: number;
  /** How many ticks run at once. */
  readonly overlap?: number;
  readonly begin: (simulation: Simulation) => void;
  /** Without any fault, every job ends so. */
  readonly ends?: Ends | Readonly<Record<string, Ends>>;
  /** Without any fault, the last one ends so soon: nobody waits for a tick. */
  readonly withinMs?: number;
  readonly workerShiftMs?: number;
  readonly versionOf?: Setup['versionOf'];
  readonly createTables?: Setup['createTables'];
  /** How long it is left alone before it is asked whether anything still moves. */
  readonly quietMs?: number;
  readonly indexLagMs?: number;
  /** What goes wrong in it anyway. */
  readonly plan?: FaultPlan;
  /** Of each effect, there and back: sandboxes that start together run side by side. */
  readonly latencyMs?: number;
  /** Without any fault: what else is wrong. */
  readonly check?: (simulation: Simulation) => string | undefined;
  /** In the end, whatever went wrong: says it to the watchdog. */
  readonly judge?: (simulation: Simulation) => void;
}

export const lane = 'pool';

/** Jobs that are there and rung for; each by a sandbox that writes it, so that this can be cut off too. */
export function submit(simulation: Simulation, ids: readonly string[], vendor: string, more = {}): void {
  ids.forEach((id, rank) => {
    void simulation.start('submit', async (world) => {
      const job = submittedJob(id, world.clock.now(), { vendor, lane, rank, ...more });
      const { direct } = simulation.tables;
      const request = { parameters: {}, metadata: undefined, consent: undefined };
      await direct.putRequest(id, job.submitToken, request, job.createdAt + retentionMs);
      await direct.create(job);
      await world.doorbell.ring(lane, id);
    });
  });
}

export function cancelAfter(simulation: Simulation, delayMs: number, id: string): void {
  simulation.timeline.after(delayMs, () => {
    void simulation.start('cancel', async (world) => {
      const principal = { tenant: 'team', user: 'ada', kind: 'key', scopes: ['jobs'] } as const;
      await cancelJob(id, principal, { ...world, notAnnounced: () => undefined });
    });
  });
}

/** A person, who acts on what is parked at that time, again and again until it is settled. */
export function settleAfter(
  simulation: Simulation,
  delayMs: number,
  id: string,
  settlingOf: () => Settling | undefined,
  times = 6,
): void {
  simulation.timeline.after(delayMs, () => {
    void simulation.start('person', async (world) => {
      const job = simulation.jobOf(id);
      const settling = settlingOf();
      if (job === undefined || settling === undefined) return;
      await settleFlagged(world, {
        jobId: id,
        generation: job.generation,
        reason: 'because',
        actor: 'eve',
        settling,
        dryRun: false,
      });
    });
    if (times > 1) settleAfter(simulation, 70_000, id, settlingOf, times - 1);
  });
}

export function changeLaneAfter(
  simulation: Simulation,
  delayMs: number,
  change: { readonly cap?: number; readonly state?: 'open' | 'paused' },
): void {
  simulation.timeline.after(delayMs, () => {
    void simulation.start('person', async (world) => {
      const order = { lane, cap: change.cap, state: change.state, reason: 'because', actor: 'eve' };
      await changeLane(world, order, 8);
    });
  });
}

export function nothingParked(simulation: Simulation): string | undefined {
  const parked = simulation.notices.find(({ kind }) => kind === 'flagged');
  return parked === undefined ? undefined : 'a healthy job was parked';
}

export const none: VendorSetup = { name: 'v', dedupe: 'none' };
export const replay: VendorSetup = { name: 'v', dedupe: 'replay' };
export const lookup: VendorSetup = { name: 'v', dedupe: 'lookup' };
export const one = (simulation: Simulation): void => submit(simulation, ['a'], 'v');
