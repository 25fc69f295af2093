import { expect, it } from 'vitest';
import { exploreLiveness } from './liveness.ts';
import { scenarios } from './scenarios.ts';

it.each(scenarios)(
  '$name: comes to its truth within one interval, all events lost',
  { timeout: 120_000 },
  async (scenario) => {
    const { found } = await exploreLiveness(scenario);
    expect(found).toEqual([]);
  },
);
