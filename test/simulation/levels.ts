import { explore, type Found } from './explore.ts';
import { exploreLiveness } from './liveness.ts';
import { randomRun } from './random-run.ts';
import { scenarios } from './scenarios.ts';
import { Random } from './world/random.ts';

export interface LevelReport {
  readonly level: string;
  readonly runs: number;
  readonly found: readonly Found[];
}

/** Each scenario: everything that can go wrong at each effect, and so many pairs of it. */
export async function* levelA(
  seed: number,
  mostPairs: number,
  { stopAtFirst = false, first = '' }: { readonly stopAtFirst?: boolean; readonly first?: string } = {},
): AsyncGenerator<LevelReport> {
  const random = new Random(seed);
  const ordered = scenarios.toSorted((a, b) => Number(b.name === first) - Number(a.name === first));
  for (const scenario of ordered) {
    const { runs, found } = await explore(scenario, { mostPairs, stopAtFirst, pick: (below) => random.below(below) });
    yield { level: `A ${scenario.name}`, runs, found };
  }
}

/** Each scenario: its worker dies at each effect, and nobody hears anything from then on. */
export async function* levelC(): AsyncGenerator<LevelReport> {
  for (const scenario of scenarios) {
    const { runs, found } = await exploreLiveness(scenario);
    yield { level: `C ${scenario.name}`, runs, found };
  }
}

/** One long run per seed. */
export async function* levelB(firstSeed: number): AsyncGenerator<LevelReport> {
  for (let seed = firstSeed; ; seed += 1) {
    const { violations } = await randomRun(seed);
    const found = violations.length === 0 ? [] : [{ scenario: `SEED=${seed}`, faults: [], violations }];
    yield { level: `B SEED=${seed}`, runs: 1, found };
  }
}
