import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { explore } from './explore.ts';
import { exploreLiveness } from './liveness.ts';
import { mutants } from './mutants/list.ts';
import { plant } from './mutants/mutant.ts';
import { randomRun } from './random-run.ts';
import { scenarios } from './scenarios.ts';
import { Random } from './world/random.ts';

const timeoutMs = 120_000;

describe.each(scenarios)('$name', (scenario) => {
  it('keeps its promises, whatever goes wrong at any one effect', { timeout: timeoutMs }, async () => {
    const random = new Random(1);
    const { found } = await explore(scenario, { mostPairs: 10, pick: (below) => random.below(below) });
    expect(found).toEqual([]);
  });

  it('comes to its truth within one interval, all events lost', { timeout: timeoutMs }, async () => {
    const { found } = await exploreLiveness(scenario);
    expect(found).toEqual([]);
  });
});

describe('a lane for minutes of everything at once', () => {
  const seeds = Array.from({ length: 10 }, (_, nth) => nth * 30);

  it.each(seeds)('SEED=%i and the next 29', { timeout: timeoutMs }, async (first) => {
    for (let seed = first; seed < first + 30; seed += 1) {
      const { violations } = await randomRun(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  });

  it('is the same for the same seed', async () => {
    const [once, again] = [await randomRun(7), await randomRun(7)];
    expect(again.effects).toEqual(once.effects);
  });
});

describe('the known bugs', () => {
  it.each(mutants)('can be planted: $name', ({ edits }) => {
    const sources = new Map<string, string>();
    for (const edit of edits) {
      const url = new URL(`../../lambdas/${edit.file}`, import.meta.url);
      const source = sources.get(edit.file) ?? readFileSync(url, 'utf8');
      sources.set(edit.file, plant(source, edit));
    }
    expect(sources.size).toBeGreaterThan(0);
  });

  it('have names of their own', () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
  });
});
