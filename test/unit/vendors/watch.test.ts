import { describe, expect, it } from 'vitest';
import type { VendorWord } from '../../../lambdas/domain/vendor.ts';
import { watchJob, type Watching } from '../../../lambdas/vendors/watch.ts';

const pending: VendorWord = { kind: 'pending', phase: 'running', percent: 1, stage: undefined };
const away = (retryAfterMs?: number): VendorWord => ({ kind: 'unreachable', message: 'away', retryAfterMs });

/** Asks in order, and the pauses between them, without waiting. */
async function pausesOver(answers: readonly VendorWord[], pollMs: number): Promise<number[]> {
  const pauses: number[] = [];
  const left = [...answers, { kind: 'canceled' } as const];
  const watching: Watching = {
    openStream: () => Promise.resolve(undefined),
    ask: () => Promise.resolve(left.shift() ?? { kind: 'gone' }),
    pollMs,
    idleMs: 1_000,
    waiting: { wait: (durationMs) => Promise.resolve(void pauses.push(durationMs)) },
  };
  const seen: VendorWord[] = [];
  for await (const word of watchJob(watching, new AbortController().signal)) seen.push(word);
  expect(seen.at(-1)?.kind).toBe('canceled');
  return pauses;
}

describe('polling', () => {
  it('is at the configured pace while the vendor answers', async () => {
    expect(await pausesOver([pending, pending, pending], 2_000)).toEqual([2_000, 2_000, 2_000]);
  });

  it('backs off while it does not, up to 30 s, and comes back to its pace', async () => {
    const answers = [...Array.from({ length: 6 }, () => away()), pending, away()];
    expect(await pausesOver(answers, 2_000)).toEqual([4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 2_000, 4_000]);
  });

  it('is never faster than a slow configured pace, nor than the vendor asks for', async () => {
    expect(await pausesOver([away(), away()], 60_000)).toEqual([60_000, 60_000]);
    expect(await pausesOver([away(45_000), away(1_000)], 2_000)).toEqual([45_000, 8_000]);
  });

  it('drops the answer to an ask that we cut off ourselves', async () => {
    const controller = new AbortController();
    const watching: Watching = {
      openStream: () => Promise.resolve(undefined),
      ask: () => {
        controller.abort();
        return Promise.resolve(away());
      },
      pollMs: 1,
      idleMs: 1,
      waiting: { wait: () => Promise.resolve() },
    };
    const seen: VendorWord[] = [];
    for await (const word of watchJob(watching, controller.signal)) seen.push(word);
    expect(seen).toEqual([]);
  });
});
