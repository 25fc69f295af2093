import { none, replay, lookup, submit, cancelAfter, settleAfter, type Scenario } from '../scenario.ts';

export const people: readonly Scenario[] = [
  {
    name: 'none: refused, parked before that is written, resent behind another',
    vendors: [{ ...none, answers: ['refuse'], runMs: 55_000, pollMs: 20_000, traits: { maxLifeMs: 120_000 } }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b', 'c'], 'v', { maxRunMs: 90_000 });
      settleAfter(simulation, 70_000, 'a', () => ({ action: 'resend', notRunning: false }));
    },
  },
  {
    name: 'none: resent by a person, the old webhook comes while the new one is sent',
    vendors: [{ ...none, answers: ['lost'], webhooks: 'reliable', webhookDelaysMs: [139_990, 140_000, 140_010] }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v');
      settleAfter(simulation, 70_000, 'a', () => ({ action: 'resend', notRunning: false }));
    },
    ends: 'succeeded',
  },
  ...[20, 80, 1_000, 2_950].flatMap((delayMs): Scenario[] =>
    (['obeys', 'goes_on'] as const).map((onCancel) => ({
      name: `none: canceled after ${delayMs} ms, the vendor ${onCancel}`,
      vendors: [{ ...none, onCancel, answers: delayMs === 80 ? ['not_sent'] : [] }],
      begin: (simulation) => {
        submit(simulation, ['a', 'b'], 'v');
        cancelAfter(simulation, delayMs, 'a');
      },
      ends: {
        a: delayMs === 80 || (delayMs < 2_900 && onCancel === 'obeys') ? 'canceled' : 'succeeded',
        b: 'succeeded',
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
      { ...none, answers: [answer], runMs: 30_000, pollMs: 10_000, webhooks: answer === 'lost' ? 'none' : 'reliable' },
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
