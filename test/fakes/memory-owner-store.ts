import { nextRank } from '../../lambdas/domain/lane.ts';
import type {
  Counted,
  CountedSubmit,
  Limits,
  OpenJob,
  OpenJobs,
  OwnerStore,
  UploadCounter,
} from '../../lambdas/domain/ports.ts';

const minuteMs = 60_000;

interface Counter {
  readonly minute: number;
  readonly inMinute: number;
  readonly ranks: Readonly<Record<string, number>>;
  readonly open: readonly OpenJob[];
  readonly revision: number;
}

const fresh: Counter = { minute: 0, inMinute: 0, ranks: {}, open: [], revision: 0 };

/** Owners' counters in memory. */
export class MemoryOwnerStore implements OwnerStore, UploadCounter {
  readonly #counters = new Map<string, Counter>();

  async countUpload(owner: string, limits: Pick<Limits, 'submitsPerMinute'>, now: number) {
    return this.#countInMinute(`uploads of ${owner}`, limits, now);
  }

  async countRefused(owner: string, limits: Pick<Limits, 'submitsPerMinute'>, now: number): Promise<void> {
    this.#countInMinute(owner, limits, now);
  }

  async count(submit: CountedSubmit, limits: Limits, left?: OpenJobs): Promise<Counted> {
    const { owner, jobId, lane, virtualTime, now } = submit;
    const counter = this.#counters.get(owner) ?? fresh;
    const counted = countInMinute(counter, limits.submitsPerMinute, now);
    if (counted.kind === 'limited') return counted;
    const { revision } = counter;
    const before = left?.revision === revision ? left.jobs : counter.open;
    const open = [...before.filter(({ id }) => id !== jobId), { id: jobId, since: now }];
    const isOpen = before.some(({ id }) => id === jobId);
    if (!isOpen && open.length > limits.activeJobs) return { kind: 'full', open: { jobs: counter.open, revision } };
    const rank = nextRank(virtualTime, counter.ranks[lane]);
    const ranks = { ...counter.ranks, [lane]: rank };
    this.#counters.set(owner, { ...counted.window, ranks, open, revision: revision + 1 });
    return { kind: 'counted', rank };
  }

  #countInMinute(
    name: string,
    { submitsPerMinute }: Pick<Limits, 'submitsPerMinute'>,
    now: number,
  ): { kind: 'counted' } | { kind: 'limited'; retryAfterMs: number } {
    const counter = this.#counters.get(name) ?? fresh;
    const counted = countInMinute(counter, submitsPerMinute, now);
    if (counted.kind === 'counted') this.#counters.set(name, { ...counter, ...counted.window });
    return counted;
  }
}

function countInMinute(
  counter: Counter,
  most: number,
  now: number,
): { kind: 'counted'; window: Pick<Counter, 'minute' | 'inMinute'> } | { kind: 'limited'; retryAfterMs: number } {
  const minute = Math.max(counter.minute, Math.floor(now / minuteMs));
  const inMinute = (minute === counter.minute ? counter.inMinute : 0) + 1;
  if (inMinute > most) return { kind: 'limited', retryAfterMs: (minute + 1) * minuteMs - now };
  return { kind: 'counted', window: { minute, inMinute } };
}
