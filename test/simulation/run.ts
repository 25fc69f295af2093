import { parseArgs } from 'node:util';
import type { Found } from './explore.ts';
import { levelA, levelB, levelC, type LevelReport } from './levels.ts';

/**
 * `npm run simulate -- --seconds 60 --seed 7`: Levels A and C once, then random runs until the time is over. With
 * `SEED=<n>` in the environment only that one random run, to look at it again. Exits 1 where anything was violated.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    pairs: { type: 'string', default: '100' },
    'until-caught': { type: 'boolean', default: false },
    first: { type: 'string', default: '' },
  },
});

const replayed = process.env['SEED'];
const seed = Number(replayed ?? values.seed ?? Date.now() % 1_000_000_000);
const endsAt = Date.now() + Number(values.seconds) * 1_000;
let runs = 0;
let violated = 0;
let lastSeed = seed;

function tell({ scenario, faults, violations }: Found): void {
  const what = violations.map(({ invariant, what }) => `${invariant}: ${what}`).join('; ');
  console.log(`  ${scenario}, after ${faults.join(' and ') || 'nothing went wrong'}\n    ${what}`);
}

/** What a mutant's run ends with: read by the one that started it. */
function caught({ level, found }: LevelReport): void {
  const [first] = found;
  if (first === undefined) return;
  const [violation] = first.violations;
  console.log(JSON.stringify({ level, invariant: violation?.invariant, what: violation?.what, faults: first.faults }));
  process.exit(1);
}

async function go(level: AsyncIterable<LevelReport>, isOver: () => boolean): Promise<void> {
  for await (const report of level) {
    runs += report.runs;
    violated += report.found.length;
    if (values['until-caught']) caught(report);
    report.found.slice(0, 5).forEach(tell);
    if (isOver()) return;
  }
}

if (replayed === undefined) {
  await go(
    levelA(seed, Number(values.pairs), { stopAtFirst: values['until-caught'], first: values.first }),
    () => false,
  );
  await go(levelC(), () => false);
}
await go(levelB(seed), () => {
  lastSeed += 1;
  return replayed !== undefined || Date.now() >= endsAt;
});
console.log(`${runs} runs explored, ${violated} violations, seeds ${seed}–${lastSeed - 1}`);
process.exitCode = violated === 0 ? 0 : 1;
