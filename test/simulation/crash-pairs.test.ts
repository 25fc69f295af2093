import { expect, it } from 'vitest';
import { exploreCrashPairs } from './explore.ts';
import { scenarios } from './scenarios.ts';

const timeoutMs = 120_000;

/** One of each kind, and short: `npm run simulate` goes through every pair of every scenario, which takes minutes. */
const tried = [
  'none: one job',
  'replay: one job',
  'reject: one job',
  'lookup: one job',
  'inflight: one job',
  'none: refused',
  'none: over its deadline, then done',
  'submit: one action, sent twice',
];

it.each(tried)('%s: keeps its promises through every pair of crashes', { timeout: timeoutMs }, async (name) => {
  const scenario = scenarios.find((known) => known.name === name);
  if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);
  const { runs, found } = await exploreCrashPairs(scenario);
  expect(found).toEqual([]);
  expect(runs).toBeGreaterThan(500);
});
