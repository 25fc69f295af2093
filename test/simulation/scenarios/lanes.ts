import { none, one, replay, submit, changeLaneAfter, settleAfter, type Scenario } from '../scenario.ts';

export const lanes: readonly Scenario[] = [
  {
    name: 'none: throttled and taken again while a tick is at it',
    vendors: [{ ...none, answers: ['throttle'], runMs: 55_000, pollMs: 25_000 }],
    begin: (simulation) => {
      simulation.timeline.after(39_950, () => submit(simulation, ['a', 'b'], 'v', { maxRunMs: 90_000 }));
    },
    ends: 'succeeded',
  },
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
      // As often as somebody may be cut off at it, and once more.
      for (const delayMs of [200_000, 280_000, 330_000]) changeLaneAfter(simulation, delayMs, { state: 'open' });
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
    // Two that were on their way, a probe a minute; nobody else tries a key that is known to be bad.
    check: (simulation) => {
      const { posts } = simulation.vendor('v');
      return posts > 7 ? `${posts} sends with a bad key` : undefined;
    },
  },
  {
    name: 'none: a worker dies between hold and claim',
    vendors: [none],
    plan: ({ what, actor }) => (what === 'claim a' && actor === 'worker-2' ? { kind: 'crash_before' } : undefined),
    begin: one,
    ends: 'succeeded',
  },
  {
    name: 'none: two rings at the same moment',
    vendors: [{ ...none, runMs: 2_000 }],
    cap: 3,
    latencyMs: 5,
    begin: (simulation) => submit(simulation, ['a', 'b', 'c'], 'v'),
    ends: 'succeeded',
    withinMs: 5_000,
  },
  {
    name: 'none: the account is refused for the first job alone, until a person fails it',
    vendors: [{ ...none, forbids: 'a' }],
    begin: (simulation) => {
      submit(simulation, ['a', 'b', 'c'], 'v');
      settleAfter(simulation, 400_000, 'a', () => ({ action: 'fail', notRunning: false }));
    },
    ends: { a: 'failed', b: 'succeeded', c: 'succeeded' },
    check: (simulation) => {
      const [a = 0, ...others] = ['a', 'b', 'c'].map((id) => simulation.jobOf(id)?.finishedAt);
      return others.every((at = a) => at < a) ? undefined : 'others waited until the first was failed';
    },
  },
  {
    name: 'none: the account is refused for longer than a job may be tried, then throttled',
    vendors: [{ ...none, answers: ['throttle'] }],
    begin: (simulation) => {
      simulation.vendor('v').accountIsGood = false;
      submit(simulation, ['a'], 'v');
      simulation.timeline.after(250_000, () => {
        simulation.vendor('v').accountIsGood = true;
      });
    },
    ends: 'succeeded',
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
