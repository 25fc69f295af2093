/**
 * How many hostile inputs are tried: twenty-three thousand in all, or `HOSTILE_RUNS` where somebody has the time for more.
 * `HOSTILE_SEED` begins elsewhere; a failure names the seed that shows it again.
 */
const ordinaryRuns = 23_000;
const asked = Number(process.env['HOSTILE_RUNS'] ?? ordinaryRuns);
if (!Number.isInteger(asked) || asked < 1) throw new Error('HOSTILE_RUNS is a number of inputs.');

export const firstSeed = Number(process.env['HOSTILE_SEED'] ?? 1);

/** A suite's share, of the inputs that it has in the ordinary run. */
export function runsOf(share: number): number {
  return Math.ceil((share * asked) / ordinaryRuns);
}

export const suiteTimeoutMs = Math.max(60_000, Math.ceil((asked / ordinaryRuns) * 60_000));
