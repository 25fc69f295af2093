import { explore, exploreCrashPairs, type Explored, type Found, type Share } from './explore.ts';
import { exploreLiveness } from './liveness.ts';
import { randomRun } from './random-run.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';
import { Random } from './world/random.ts';

/** A part of the exploration that can be done by itself, anywhere. */
export type Task =
  /** Everything that can go wrong at each effect of a scenario, and so many random pairs of it. */
  | { readonly level: 'A'; readonly scenario: string; readonly mostPairs: number; readonly seed: number }
  /** Every pair of crashes in a scenario, or a share of them. */
  | ({ readonly level: 'A pairs'; readonly scenario: string } & Share)
  /** A scenario whose worker dies at each effect, and nobody hears anything from then on. */
  | { readonly level: 'C'; readonly scenario: string }
  /** One long run of everything at once. */
  | { readonly level: 'B'; readonly seed: number };

export interface LevelReport {
  readonly level: string;
  readonly runs: number;
  readonly found: readonly Found[];
}

export async function perform(task: Task, { stopAtFirst = false } = {}): Promise<LevelReport> {
  const { runs, found } = await performed(task, stopAtFirst);
  return { level: nameOf(task), runs, found };
}

async function performed(task: Task, stopAtFirst: boolean): Promise<Explored> {
  switch (task.level) {
    case 'A': {
      const random = new Random(task.seed);
      const pick = (below: number) => random.below(below);
      return await explore(named(task.scenario), { mostPairs: task.mostPairs, stopAtFirst, pick });
    }
    case 'A pairs':
      return await exploreCrashPairs(named(task.scenario), task);
    case 'C':
      return await exploreLiveness(named(task.scenario));
    case 'B': {
      const { violations } = await randomRun(task.seed);
      const found = violations.length === 0 ? [] : [{ scenario: `SEED=${task.seed}`, faults: [], violations }];
      return { runs: 1, found };
    }
    default:
      return task satisfies never;
  }
}

export function nameOf(task: Task): string {
  return task.level === 'B' ? `B SEED=${task.seed}` : `${task.level} ${task.scenario}`;
}

function named(name: string): Scenario {
  const scenario = scenarios.find((known) => known.name === name);
  if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);
  return scenario;
}

/** Everything but the random runs. `first`: a scenario that goes before all others. */
export function plannedTasks(seed: number, pairs: number | 'all', first = ''): readonly Task[] {
  const names = scenarios.map(({ name }) => name).toSorted((a, b) => Number(b === first) - Number(a === first));
  const mostPairs = pairs === 'all' ? 20 : pairs;
  return [
    ...names.map((scenario): Task => ({ level: 'A', scenario, mostPairs, seed })),
    ...names.map((scenario): Task => ({ level: 'C', scenario })),
    ...(pairs === 'all' ? names.flatMap(pairTasks) : []),
  ];
}

/** The longest scenarios have some 30,000 pairs: in shares, so that no core is left with one of them at the end. */
const shares = 8;

function pairTasks(scenario: string): readonly Task[] {
  return Array.from({ length: shares }, (_, share): Task => ({ level: 'A pairs', scenario, share, shares }));
}
