import { describe, expect, it } from 'vitest';
import { deployments, mendedSince, previousVersion } from './deployments.ts';
import { exploreCrashes } from './explore.ts';
import { scenarios } from './scenarios.ts';

const shared = scenarios.filter(({ name }) => !mendedSince.includes(name));

/** Every other crash each, for the time they take: `npm run simulate` tries them all. */
const halves = Object.entries(deployments).map(([name, versionOf], share) => ({ name, versionOf, share }));

describe.each(halves)('two versions at once: $name', ({ versionOf, share }) => {
  it.each(shared)('$name', { timeout: 120_000 }, async (scenario) => {
    const { found } = await exploreCrashes({ ...scenario, versionOf }, { share, shares: 2 });
    expect(found).toEqual([]);
  });
});

it.each(mendedSince)('the version before alone still fails: %s', async (name) => {
  const scenario = scenarios.find((each) => each.name === name);
  if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);
  const { found } = await exploreCrashes({ ...scenario, versionOf: () => previousVersion });
  expect(found).not.toEqual([]);
});
