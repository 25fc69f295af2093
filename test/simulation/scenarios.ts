import { cancelJob } from '../../lambdas/domain/cancel-job.ts';
import { changeLane } from '../../lambdas/domain/change-lane.ts';
import { settleFlagged, type Settling } from '../../lambdas/domain/settle-flagged.ts';
import type { VendorSetup } from './world/simulated-vendor.ts';
import type { Simulation } from './world/simulation.ts';
import { submittedJob } from './world/submitted-job.ts';

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
  readonly indexLagMs?: number;
}

export const lane = 'pool';

/** Jobs that are there and rung for; each by a sandbox that writes it, so that this can be cut off too. */
export function submit(simulation: Simulation, ids: readonly string[], vendor: string, more = {}): void {
  ids.forEach((id, rank) => {
    void simulation.start('submit', async (world) => {
      const job = submittedJob(id, world.clock.now(), { vendor, lane, rank, ...more });
      await simulation.jobs.putRequest(id, job.submitToken, {
        parameters: {},
        metadata: undefined,
        consent: undefined,
      });
      await simulation.jobs.create(job);
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

const none: VendorSetup = { name: 'v', dedupe: 'none' };
const replay: VendorSetup = { name: 'v', dedupe: 'replay' };
const lookup: VendorSetup = { name: 'v', dedupe: 'lookup' };
const one = (simulation: Simulation): void => submit(simulation, ['a'], 'v');

const classes = (['none', 'replay', 'reject', 'lookup', 'inflight'] as const).flatMap((dedupe): Scenario[] => [
  { name: `${dedupe}: one job`, vendors: [{ name: 'v', dedupe }], begin: one, ends: 'succeeded', withinMs: 5_000 },
  {
    name: `${dedupe}: two jobs, cap 1`,
    vendors: [{ name: 'v', dedupe }],
    begin: (simulation) => submit(simulation, ['a', 'b'], 'v'),
    ends: 'succeeded',
    withinMs: 10_000,
  },
  {
    name: `${dedupe}: answer lost, two jobs, two ticks at once`,
    vendors: [{ name: 'v', dedupe, answers: ['lost'] }],
    overlap: 2,
    begin: (simulation) => submit(simulation, ['a', 'b'], 'v'),
  },
]);

const answers: readonly Scenario[] = [
  { name: 'none: fails at the vendor', vendors: [{ ...none, ends: 'failed' }], begin: one, ends: 'failed' },
  { name: 'replay: fails at the vendor', vendors: [{ ...replay, ends: 'failed' }], begin: one, ends: 'failed' },
  {
    name: 'none: throttled, not sent, taken',
    vendors: [{ ...none, answers: ['throttle', 'not_sent'] }],
    begin: (simulation) => submit(simulation, ['a', 'b'], 'v'),
    ends: 'succeeded',
    withinMs: 30_000,
  },
  {
    name: 'none: throttled until its sends are spent',
    vendors: [{ ...none, answers: ['throttle', 'throttle', 'throttle', 'throttle', 'throttle'] }],
    begin: one,
    ends: 'failed',
  },
  { name: 'none: refused', vendors: [{ ...none, answers: ['refuse'] }], begin: one, ends: 'failed' },
  ...(['throttle', 'refuse', 'account', 'not_sent', 'lost', 'lost_untaken'] as const).map((second): Scenario => ({
    name: `replay: lost, then ${second}`,
    vendors: [{ ...replay, runMs: 40_000, pollMs: 20_000, answers: ['lost', second] }],
    begin: (simulation) => submit(simulation, ['a', 'b'], 'v', { maxRunMs: 90_000 }),
  })),
  {
    name: 'replay: a vendor that forgets its keys',
    vendors: [
      {
        ...replay,
        answers: ['lost', 'throttle', 'throttle', 'throttle', 'throttle'],
        traits: { dedupeMs: 60_000, sendWindowMs: 1_000_000, maxSends: 100 },
      },
    ],
    begin: one,
  },
  {
    name: 'lookup: never arrived',
    vendors: [{ ...lookup, answers: ['lost_untaken'] }],
    begin: one,
    ends: 'succeeded',
  },
  {
    name: 'lookup: arrived late, listed late',
    vendors: [{ ...lookup, answers: ['late'], listingLagMs: 9_900, runMs: 50_000, pollMs: 20_000 }],
    begin: (simulation) => submit(simulation, ['a', 'b'], 'v', { maxRunMs: 90_000 }),
  },
  {
    name: 'lookup: absence is only a hint, and a lie',
    vendors: [{ ...lookup, answers: ['lost'], runMs: 55_000, pollMs: 20_000, traits: { absence: 'hint' } }],
    begin: (simulation) => {
      one(simulation);
      simulation.vendor('v').forgets = true;
      simulation.timeline.after(200_000, () => {
        simulation.vendor('v').forgets = false;
      });
    },
  },
  {
    name: 'none: synchronous',
    vendors: [{ ...none, isSynchronous: true, traits: { sendTimeoutMs: 20_000 } }],
    begin: (simulation) => submit(simulation, ['a', 'b'], 'v'),
    ends: 'succeeded',
    withinMs: 10_000,
  },
  {
    name: 'none: answer lost, webhooks come',
    vendors: [{ ...none, answers: ['lost'], webhooks: 'reliable' }],
    begin: (simulation) => submit(simulation, ['a', 'b'], 'v'),
    ends: 'succeeded',
  },
  {
    name: 'none: webhooks as well',
    vendors: [{ ...none, webhooks: 'reliable' }],
    begin: (simulation) => submit(simulation, ['a', 'b'], 'v'),
    ends: 'succeeded',
    withinMs: 10_000,
  },
  {
    name: 'replay: webhooks, answer lost',
    vendors: [{ ...replay, answers: ['lost', 'refuse'], webhooks: 'reliable' }],
    begin: one,
    ends: 'succeeded',
  },
];

const watching: readonly Scenario[] = [
  {
    name: 'none: handed over from worker to worker',
    vendors: [{ ...none, runMs: 200_000, pollMs: 25_000, traits: { maxLifeMs: 250_000 } }],
    workerShiftMs: 90_000,
    begin: (simulation) => submit(simulation, ['a', 'b'], 'v', { maxRunMs: 300_000 }),
    ends: 'succeeded',
    withinMs: 450_000,
  },
  {
    name: 'none: over its deadline, then done',
    vendors: [{ ...none, runMs: 50_000, pollMs: 10_000, traits: { maxLifeMs: 300_000 } }],
    begin: one,
  },
  {
    name: 'none: over its deadline, outlives its hold',
    vendors: [{ ...none, runMs: 200_000, pollMs: 30_000, traits: { maxLifeMs: 220_000 } }],
    begin: one,
    ends: 'succeeded',
  },
  {
    name: 'none: the vendor forgets, and remembers',
    vendors: [{ ...none, runMs: 28_000, pollMs: 2_000 }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v', { maxRunMs: 200_000 });
      simulation.timeline.after(5_000, () => {
        simulation.vendor('v').forgets = true;
      });
      simulation.timeline.after(75_000, () => {
        simulation.vendor('v').forgets = false;
      });
    },
    ends: 'succeeded',
  },
  {
    name: 'none: the vendor is down for minutes',
    vendors: [{ ...none, runMs: 5_000, pollMs: 5_000 }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v', { maxRunMs: 400_000 });
      simulation.timeline.after(2_000, () => {
        simulation.vendor('v').isDown = true;
      });
      simulation.timeline.after(150_000, () => {
        simulation.vendor('v').isDown = false;
      });
    },
    ends: 'succeeded',
  },
  {
    name: 'none: its picture is lost',
    vendors: [{ ...none, unfetchable: 'lost', traits: { maxLifeMs: undefined } }],
    begin: (simulation) => submit(simulation, ['a', 'b'], 'v'),
    ends: 'needs_attention',
  },
];

const people: readonly Scenario[] = [
  ...[20, 80, 1_000, 2_950].flatMap((delayMs): Scenario[] =>
    (['obeys', 'goes_on'] as const).map((onCancel) => ({
      name: `none: canceled after ${delayMs} ms, the vendor ${onCancel}`,
      vendors: [{ ...none, onCancel, answers: delayMs === 80 ? ['not_sent'] : [] }],
      begin: (simulation) => {
        submit(simulation, ['a', 'b'], 'v');
        cancelAfter(simulation, delayMs, 'a');
      },
    })),
  ),
  ...([replay, lookup] as const).map((vendor): Scenario => ({
    name: `${vendor.dedupe}: answer lost, canceled`,
    vendors: [{ ...vendor, answers: ['lost'], runMs: 20_000, pollMs: 5_000 }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v');
      cancelAfter(simulation, 60, 'a');
    },
  })),
  ...(['lost', 'lost_untaken'] as const).map((answer): Scenario => ({
    name: `none: ${answer}, resent by a person, old webhooks come late`,
    vendors: [
      { ...none, answers: [answer], runMs: 30_000, pollMs: 10_000, webhooks: answer === 'lost' ? 'lost' : 'reliable' },
    ],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v');
      settleAfter(simulation, 70_000, 'a', () => ({ action: 'resend', notRunning: false }));
    },
    ends: 'succeeded',
  })),
  {
    name: 'replay: sends spent, taken again by a person',
    vendors: [
      {
        ...replay,
        answers: ['lost', 'lost', 'lost', 'lost'],
        runMs: 50_000,
        pollMs: 20_000,
        traits: { dedupeMs: 900_000 },
      },
    ],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v', { maxRunMs: 120_000 });
      settleAfter(simulation, 90_000, 'a', () => ({ action: 'retake' }));
    },
  },
  {
    name: 'none: answer lost, adopted by a person',
    vendors: [{ ...none, answers: ['lost'], runMs: 55_000, pollMs: 10_000 }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v', { maxRunMs: 120_000 });
      settleAfter(simulation, 30_000, 'a', () => {
        const run = simulation.vendor('v').runsOf('a')[0];
        return run === undefined ? undefined : { action: 'adopt', vendorJobId: run.id };
      });
    },
    ends: 'succeeded',
  },
  {
    name: 'none: answer lost, failed by a person',
    vendors: [{ ...none, answers: ['lost'], runMs: 50_000, pollMs: 10_000 }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v', { maxRunMs: 120_000 });
      settleAfter(simulation, 20_000, 'a', () => ({ action: 'fail', notRunning: false }));
    },
    ends: { a: 'failed', b: 'succeeded' },
  },
  {
    name: 'none: answer lost, canceled while parked',
    vendors: [{ ...none, answers: ['lost'], runMs: 50_000, pollMs: 10_000 }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v', { maxRunMs: 120_000 });
      cancelAfter(simulation, 20_000, 'a');
    },
  },
  {
    name: 'none: running, failed by a person',
    vendors: [{ ...none, runMs: 30_000, pollMs: 5_000 }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v', { maxRunMs: 120_000 });
      settleAfter(simulation, 10_000, 'a', () => ({ action: 'fail', notRunning: false }), 1);
    },
    ends: { a: 'failed', b: 'succeeded' },
  },
];

const lanes: readonly Scenario[] = [
  {
    name: 'none: three jobs, two at once',
    vendors: [{ ...none, runMs: 2_000 }],
    cap: 2,
    begin: (simulation) => submit(simulation, ['a', 'b', 'c'], 'v'),
    ends: 'succeeded',
    withinMs: 8_000,
  },
  {
    name: 'none: three jobs, the index is late',
    vendors: [{ ...none, runMs: 2_000 }],
    cap: 3,
    indexLagMs: 1_500,
    begin: (simulation) => submit(simulation, ['a', 'b', 'c'], 'v'),
    ends: 'succeeded',
    withinMs: 8_000,
  },
  {
    name: 'none: the cap is raised',
    vendors: [{ ...none, runMs: 20_000, pollMs: 10_000 }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v');
      changeLaneAfter(simulation, 2_000, { cap: 2 });
    },
    ends: 'succeeded',
    withinMs: 24_000,
  },
  {
    name: 'none: the cap is lowered',
    vendors: [{ ...none, runMs: 5_000, pollMs: 5_000 }],
    cap: 2,
    begin: (simulation) => {
      submit(simulation, ['a', 'b', 'c'], 'v');
      changeLaneAfter(simulation, 1_000, { cap: 1 });
    },
    ends: 'succeeded',
    withinMs: 15_000,
  },
  {
    name: 'none: paused longer than it may wait, then opened',
    vendors: [none],
    begin: (simulation) => {
      changeLaneAfter(simulation, 0, { state: 'paused' });
      simulation.timeline.after(1_000, () => submit(simulation, ['a', 'b'], 'v', { maxQueueMs: 90_000, checkAt: 0 }));
      changeLaneAfter(simulation, 200_000, { state: 'open' });
      changeLaneAfter(simulation, 280_000, { state: 'open' });
    },
    ends: 'succeeded',
    withinMs: 215_000,
  },
  {
    name: 'none: expires behind another',
    vendors: [{ ...none, runMs: 28_000, pollMs: 10_000 }],
    begin: (simulation) => {
      submit(simulation, ['a'], 'v', { maxRunMs: 60_000 });
      simulation.timeline.after(1_000, () =>
        submit(simulation, ['b'], 'v', { maxQueueMs: 20_000, checkAt: simulation.timeline.now() + 20_000, rank: 5 }),
      );
      simulation.timeline.after(25_000, () => submit(simulation, ['c'], 'v', { rank: 1, maxRunMs: 60_000 }));
    },
  },
  {
    name: 'none: the account is refused, and well again',
    vendors: [none],
    cap: 2,
    begin: (simulation) => {
      simulation.vendor('v').accountIsGood = false;
      submit(simulation, ['a', 'b', 'c'], 'v');
      simulation.timeline.after(150_000, () => {
        simulation.vendor('v').accountIsGood = true;
      });
    },
    ends: 'succeeded',
    withinMs: 330_000,
  },
  {
    name: 'replay: lost, then the account is refused',
    vendors: [{ ...replay, answers: ['lost'], runMs: 40_000, pollMs: 20_000 }],
    cap: 2,
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v', { maxRunMs: 90_000 });
      simulation.timeline.after(60, () => {
        simulation.vendor('v').accountIsGood = false;
      });
      simulation.timeline.after(150_000, () => {
        simulation.vendor('v').accountIsGood = true;
      });
    },
  },
];

export const scenarios: readonly Scenario[] = [...classes, ...answers, ...watching, ...people, ...lanes];
