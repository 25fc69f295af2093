import { none, lookup, one, submit, type Scenario } from '../scenario.ts';

export const watching: readonly Scenario[] = [
  {
    name: 'none: ticks come fast',
    vendors: [{ ...none, runMs: 2_600, pollMs: 100 }],
    begin: one,
    ends: 'succeeded',
    withinMs: 5_000,
  },
  {
    name: 'none: two at once, one of them long',
    vendors: [{ ...none, runMs: 330_000, pollMs: 60_000, traits: { maxLifeMs: 400_000 } }],
    cap: 2,
    workerShiftMs: 400_000,
    begin: (simulation) => {
      submit(simulation, ['a'], 'v', { maxRunMs: 380_000 });
      submit(simulation, ['a'], 'v', { maxRunMs: 380_000 });
    },
    ends: 'succeeded',
  },
  {
    name: 'lookup: the vendor forgets a job that it told us of',
    vendors: [{ ...lookup, runMs: 58_000, pollMs: 10_000, traits: { absence: 'hint' } }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v', { maxRunMs: 200_000 });
      simulation.timeline.after(5_000, () => {
        simulation.vendor('v').forgets = true;
      });
      simulation.timeline.after(45_000, () => {
        simulation.vendor('v').forgets = false;
      });
    },
    ends: 'succeeded',
  },
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
