import { one, submit, type Scenario } from '../scenario.ts';

export const classes = (['none', 'replay', 'reject', 'lookup', 'inflight'] as const).flatMap((dedupe): Scenario[] => [
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
