import { expect, it } from 'vitest';
import { exploreCrashes } from './explore.ts';
import { overDynamo } from './levels.ts';
import { scenarios } from './scenarios.ts';

const timeoutMs = 120_000;

/** `npm run simulate` does the same for everything else that can go wrong, and with all events lost. */
it.each(scenarios)(
  '$name: keeps its promises over the real adapters, whichever request of theirs a crash cuts off',
  { timeout: timeoutMs },
  async (scenario) => {
    const { found } = await exploreCrashes(overDynamo(scenario));
    expect(found).toEqual([]);
  },
);
