import { expect, it } from 'vitest';
import { exploreCrashes } from './explore.ts';
import { overDynamo } from './levels.ts';
import { scenarios } from './scenarios.ts';

const timeoutMs = 120_000;

/** Every other crash, for the time it takes: `npm run simulate` tries them all, and everything else that can go wrong. */
const half = { share: 0, shares: 2 };

it.each(scenarios)(
  '$name: keeps its promises over the real adapters, whichever request of theirs a crash cuts off',
  { timeout: timeoutMs },
  async (scenario) => {
    const { found } = await exploreCrashes(overDynamo(scenario), half);
    expect(found).toEqual([]);
  },
);
