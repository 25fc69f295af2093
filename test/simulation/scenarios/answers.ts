import { none, replay, lookup, one, submit, nothingParked, type Scenario } from '../scenario.ts';

export const answers: readonly Scenario[] = [
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
    name: 'replay: a vendor that forgets its keys while a worker stalls',
    vendors: [{ ...replay, answers: ['lost', 'throttle'], traits: { dedupeMs: 60_000 } }],
    // The second tick comes just after the vendor forgot.
    begin: (simulation) => {
      simulation.timeline.after(39_500, () => one(simulation));
    },
  },
  {
    name: 'replay: a receipt comes when another worker has sent again',
    vendors: [{ ...replay, answers: ['accept', 'throttle', 'throttle', 'throttle'], runMs: 50_000, pollMs: 20_000 }],
    plan: ({ what }) => (what.startsWith('link') ? { kind: 'stall', delayMs: 40_000 } : undefined),
    begin: (simulation) => submit(simulation, ['a'], 'v', { maxRunMs: 90_000 }),
    ends: 'succeeded',
  },
  {
    name: 'replay: "not taken" comes when another send is out',
    vendors: [{ ...replay, answers: ['throttle', 'lost'], runMs: 50_000, pollMs: 20_000 }],
    plan: ({ what, actor }) =>
      what === 'back off' && actor === 'worker-2' ? { kind: 'stall', delayMs: 40_000 } : undefined,
    begin: (simulation) => submit(simulation, ['a'], 'v', { maxRunMs: 90_000 }),
    ends: 'succeeded',
  },
  {
    name: 'lookup: never arrived',
    vendors: [{ ...lookup, answers: ['lost_untaken'] }],
    begin: one,
    ends: 'succeeded',
  },
  {
    name: 'lookup: sent late, arrived late, listed late',
    vendors: [{ ...lookup, answers: ['late'], listingLagMs: 9_900, runMs: 50_000, pollMs: 20_000 }],
    begin: (simulation) => {
      simulation.timeline.after(22_000, () => submit(simulation, ['a', 'b'], 'v', { maxRunMs: 90_000 }));
    },
  },
  {
    name: 'lookup: arrived late, listed late',
    vendors: [{ ...lookup, answers: ['late'], listingLagMs: 9_900, runMs: 50_000, pollMs: 20_000 }],
    // Just after a tick: whoever stalls has all the time to the next one for himself.
    begin: (simulation) => {
      simulation.timeline.after(41_000, () => submit(simulation, ['a', 'b'], 'v', { maxRunMs: 90_000 }));
    },
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
    vendors: [{ ...none, isSynchronous: true, runMs: 18_000, traits: { sendTimeoutMs: 20_000 } }],
    begin: (simulation) => {
      simulation.timeline.after(8_000, () => submit(simulation, ['a', 'b'], 'v'));
    },
    ends: 'succeeded',
    withinMs: 60_000,
    check: nothingParked,
  },
  {
    name: 'none: answer lost, a webhook comes after its hold was freed',
    vendors: [{ ...none, answers: ['lost'], webhooks: 'reliable', webhookDelaysMs: [150_000] }],
    begin: (simulation) => submit(simulation, ['a', 'b'], 'v'),
    ends: 'succeeded',
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
