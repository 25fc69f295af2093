import { describe, expect, it } from 'vitest';
import { exploreCrashes } from './explore.ts';
import { scenarios } from './scenarios.ts';
import type { Setup } from './world/setup.ts';
import { thisVersion, type Version } from './world/version.ts';

/** Kept by `npm run keep-version` when a version is released. */
const kept: unknown = await import(new URL('previous-version/domain.mjs', import.meta.url).href);
const previousVersion = kept as Version;

/** What the kept version does wrong by itself, mended since: beside it, this one can't do better. Empty it with the next. */
const mendedSince: readonly string[] = [
  'none: the account is refused for longer than a job may be tried, then throttled',
];

/** A deployment replaces functions one by one, and the old ones' sandboxes work on for minutes. */
const deployments: Readonly<Record<string, NonNullable<Setup['versionOf']>>> = {
  'old workers, new ticks': (role) => (role === 'worker' ? previousVersion : thisVersion),
  'every other sandbox old': (_role, nth) => (nth % 2 === 0 ? previousVersion : thisVersion),
};

const shared = scenarios.filter(({ name }) => !mendedSince.includes(name));

describe.each(Object.entries(deployments))('two versions at once: %s', (_name, versionOf) => {
  it.each(shared)('$name', { timeout: 120_000 }, async (scenario) => {
    const { found } = await exploreCrashes({ ...scenario, versionOf });
    expect(found).toEqual([]);
  });
});

it.each(mendedSince)('the version before alone still fails: %s', async (name) => {
  const scenario = scenarios.find((each) => each.name === name);
  if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);
  const { found } = await exploreCrashes({ ...scenario, versionOf: () => previousVersion });
  expect(found).not.toEqual([]);
});
