import { expect, it } from 'vitest';
import { exploreCrashes } from './explore.ts';
import { overDynamo } from './levels.ts';
import { scenarios } from './scenarios.ts';

/** Every seventh crash, for the time they take: `npm run simulate` tries them all, and everything else that can go wrong. */
const shares = 7;
/** Not the same ones of each: scenarios begin alike. */
const tried = scenarios.map((scenario, nth) => ({ name: scenario.name, scenario, share: nth % shares }));

it.each(tried)(
  '$name: keeps its promises over the real adapters, whichever request of theirs a crash cuts off',
  { timeout: 120_000 },
  async ({ scenario, share }) => {
    const { found } = await exploreCrashes(overDynamo(scenario), { share, shares });
    expect(found).toEqual([]);
  },
);
