import { nextRank } from '../../lambdas/domain/lane.ts';
import type { Counted, OwnerLimits, OwnerStore, UploadCounter } from '../../lambdas/domain/ports.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

interface Counter {
  readonly minute: number;
  readonly submitsInMinute: number;
  readonly day: number;
  readonly submitsInDay: number;
  readonly ranks: Readonly<Record<string, number>>;
}

const fresh: Counter = { minute: 0, submitsInMinute: 0, day: 0, submitsInDay: 0, ranks: {} };

/** Owners' counters in memory. */
export class MemoryOwnerStore implements OwnerStore, UploadCounter {
  readonly #counters = new Map<string, Counter>();

  async countUpload(owner: string, limits: OwnerLimits, now: number): Promise<Counted> {
    return await this.count(`uploads of ${owner}`, 'uploads', 0, limits, now);
  }

  async count(owner: string, lane: string, virtualTime: number, limits: OwnerLimits, now: number): Promise<Counted> {
    const counter = this.#counters.get(owner) ?? fresh;
    const minute = Math.max(counter.minute, Math.floor(now / minuteMs));
    const day = Math.max(counter.day, Math.floor(now / dayMs));
    const submitsInMinute = (minute === counter.minute ? counter.submitsInMinute : 0) + 1;
    const submitsInDay = (day === counter.day ? counter.submitsInDay : 0) + 1;
    if (submitsInMinute > limits.submitsPerMinute) {
      return { kind: 'limited', retryAfterMs: (minute + 1) * minuteMs - now };
    }
    const rank = nextRank(virtualTime, counter.ranks[lane]);
    const ranks = { ...counter.ranks, [lane]: rank };
    this.#counters.set(owner, { minute, submitsInMinute, day, submitsInDay, ranks });
    return { kind: 'counted', rank, submitsToday: submitsInDay };
  }
}
