import { describe, expect, it } from 'vitest';
import { randomRun } from './random-run.ts';

describe('a lane for minutes of everything at once', () => {
  const seeds = Array.from({ length: 10 }, (_, nth) => nth * 20);

  it.each(seeds)('SEED=%i and the next 19', { timeout: 120_000 }, async (first) => {
    for (let seed = first; seed < first + 20; seed += 1) {
      const { violations } = await randomRun(seed);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  });

  it('is the same for the same seed', async () => {
    const [once, again] = [await randomRun(7), await randomRun(7)];
    expect(again.effects).toEqual(once.effects);
  });
});
