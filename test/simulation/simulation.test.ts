import { expect, it } from 'vitest';
import { explore } from './explore.ts';
import { scenarios } from './scenarios.ts';
import { Random } from './world/random.ts';

it.each(scenarios)(
  '$name: keeps its promises, whatever goes wrong at any one effect',
  { timeout: 120_000 },
  async (scenario) => {
    const random = new Random(1);
    const { found } = await explore(scenario, { mostPairs: 10, pick: (below) => random.below(below) });
    expect(found).toEqual([]);
  },
);
