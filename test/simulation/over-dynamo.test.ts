import { expect, it } from 'vitest';
import { exploreCrashes } from './explore.ts';
import { overDynamo } from './levels.ts';
import { scenarios } from './scenarios.ts';

const timeoutMs = 120_000;

/** Every fourth crash, for the time it takes: `npm run simulate` tries them all, and everything else that can go wrong. */
const aQuarter = { share: 0, shares: 4 };

it.each(scenarios)(
  '$name: keeps its promises over the real adapters, whichever request of theirs a crash cuts off',
  { timeout: timeoutMs },
  async (scenario) => {
    const { found } = await exploreCrashes(overDynamo(scenario), aQuarter);
    expect(found).toEqual([]);
  },
);
