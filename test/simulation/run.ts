import { parseArgs } from 'node:util';
import { explore } from './explore.ts';
import { scenarios } from './scenarios.ts';
import { Random } from './world/random.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    pairs: { type: 'string', default: '200' },
    only: { type: 'string' },
  },
});
const seed = Number(values.seed ?? process.env['SEED'] ?? Date.now() % 1_000_000);
const random = new Random(seed);
let runs = 0;
let count = 0;
for (const scenario of scenarios) {
  if (values.only !== undefined && !scenario.name.includes(values.only)) continue;
  const startedAt = Date.now();
  const explored = await explore(scenario, { mostPairs: Number(values.pairs), pick: (below) => random.below(below) });
  runs += explored.runs;
  count += explored.found.length;
  console.log(
    `${scenario.name}: ${explored.runs} runs, ${explored.found.length} with violations, ${Date.now() - startedAt} ms`,
  );
  const seen = new Set<string>();
  for (const { faults, violations } of explored.found) {
    const what = violations
      .map(({ invariant, what }) => `${invariant}: ${what}`)
      .join('; ')
      .slice(0, 300);
    if (seen.has(what) || seen.size > 8) continue;
    seen.add(what);
    console.log(`   ${what}\n      after ${faults.join(' + ') || 'nothing'}`);
  }
}
console.log(`${runs} runs, ${count} violations, seed ${seed}`);
