import { deployments, mendedSince, type Deployment } from './deployments.ts';
import { explore, exploreCrashes, exploreCrashPairs, type Explored, type Found, type Share } from './explore.ts';
import { exploreLiveness } from './liveness.ts';
import { randomRun } from './random-run.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';
import { DynamoTables } from './world/dynamo-tables.ts';
import { Random } from './world/random.ts';

/** A part of the exploration that can be done by itself, anywhere. */
export type Task =
  /** Everything that can go wrong at each effect of a scenario, and so many random pairs of it. */
  | { readonly level: 'A'; readonly scenario: string; readonly mostPairs: number; readonly seed: number }
  /** The same, but for the pairs, over the real adapters: at each request that they make of DynamoDB. */
  | { readonly level: 'A dynamo'; readonly scenario: string }
  /** Every pair of crashes in a scenario, or a share of them. */
  | ({ readonly level: 'A pairs'; readonly scenario: string } & Share)
  /** Every crash in a scenario while the version before still works beside this one. */
  | { readonly level: 'A versions'; readonly scenario: string; readonly deployment: Deployment }
  /** A scenario whose worker dies at each effect, and nobody hears anything from then on. */
  | { readonly level: 'C' | 'C dynamo'; readonly scenario: string }
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
    case 'A dynamo':
      return await explore(overDynamo(named(task.scenario)), { mostPairs: 0, stopAtFirst, pick: () => 0 });
    case 'A pairs':
      return await exploreCrashPairs(named(task.scenario), task);
    case 'A versions':
      return await exploreCrashes({ ...named(task.scenario), versionOf: deployments[task.deployment] });
    case 'C':
      return await exploreLiveness(named(task.scenario));
    case 'C dynamo':
      return await exploreLiveness(overDynamo(named(task.scenario)));
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
  switch (task.level) {
    case 'B':
      return `B SEED=${task.seed}`;
    case 'A versions':
      return `A ${task.deployment}: ${task.scenario}`;
    case 'A dynamo':
    case 'C dynamo':
      return `${task.level}: ${task.scenario}`;
    case 'A':
    case 'A pairs':
    case 'C':
      return `${task.level} ${task.scenario}`;
    default:
      return task satisfies never;
  }
}

/** The scenario, its tables being the real adapters over a DynamoDB. */
export function overDynamo(scenario: Scenario): Scenario {
  return { ...scenario, createTables: (caps) => new DynamoTables(caps) };
}

function named(name: string): Scenario {
  const scenario = scenarios.find((known) => known.name === name);
  if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);
  return scenario;
}

export interface Planning {
  readonly seed: number;
  readonly pairs: number | 'all';
  /** A task of this name goes before all others. */
  readonly first: string;
  readonly tables: 'memory' | 'dynamo' | 'both';
}

/** Everything but the random runs. */
export function plannedTasks({ seed, pairs, first, tables }: Planning): readonly Task[] {
  const names = scenarios.map(({ name }) => name);
  const mostPairs = pairs === 'all' ? 20 : pairs;
  const overMemory = [
    ...names.map((scenario): Task => ({ level: 'A', scenario, mostPairs, seed })),
    ...names.map((scenario): Task => ({ level: 'C', scenario })),
    ...names.filter((name) => !mendedSince.includes(name)).flatMap(versionTasks),
    ...(pairs === 'all' ? names.flatMap(pairTasks) : []),
  ];
  const overAdapters = [
    ...names.map((scenario): Task => ({ level: 'A dynamo', scenario })),
    ...names.map((scenario): Task => ({ level: 'C dynamo', scenario })),
  ];
  const tasks = [...(tables === 'dynamo' ? [] : overMemory), ...(tables === 'memory' ? [] : overAdapters)];
  return tasks.toSorted((a, b) => Number(nameOf(b) === first) - Number(nameOf(a) === first));
}

function versionTasks(scenario: string): readonly Task[] {
  const names = Object.keys(deployments) as Deployment[];
  return names.map((deployment): Task => ({ level: 'A versions', scenario, deployment }));
}

/** The longest scenarios have some 30,000 pairs: in shares, so that no core is left with one of them at the end. */
const shares = 8;

function pairTasks(scenario: string): readonly Task[] {
  return Array.from({ length: shares }, (_, share): Task => ({ level: 'A pairs', scenario, share, shares }));
}
