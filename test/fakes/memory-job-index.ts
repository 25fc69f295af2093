import type { Job, State } from '../../lambdas/domain/job.ts';
import { activeShards, type Due, type Flagged, type JobIndex, type Page } from '../../lambdas/domain/ports.ts';
import { indexKeysOf } from '../../lambdas/store/item.ts';
import type { MemoryJobStore } from './memory-job-store.ts';

/** The keys of the sparse indexes that a job stands in, as its item has them. */
export interface IndexKeys {
  readonly queuedLane?: string;
  readonly activeShard?: string;
  readonly attention?: string;
  readonly flaggedAt?: number;
}

interface Indexed {
  readonly job: Job;
  readonly keys: IndexKeys;
}

/**
 * The indexes over a `MemoryJobStore`, as late as a test wants them: with `lagWrites = n` the latest n writes are not
 * seen yet, with `Infinity` none from now on. It never goes back in time.
 */
export class MemoryJobIndex implements JobIndex {
  lagWrites = 0;
  readonly #store: MemoryJobStore;
  readonly #keysOf: (job: Job) => IndexKeys;
  readonly #seen = new Map<string, Indexed>();
  #applied = 0;

  /** `keysOf`: where a write placed the job; without it, where it should be. */
  constructor(store: MemoryJobStore, keysOf: (job: Job) => IndexKeys = indexKeysOf) {
    this.#store = store;
    this.#keysOf = keysOf;
  }

  async queued(lane: string, limit: number): Promise<readonly string[]> {
    return this.#waiting(lane)
      .slice(0, limit)
      .map(({ job }) => job.id);
  }

  async countQueued(lane: string): Promise<number> {
    return this.#waiting(lane).length;
  }

  async countAhead(lane: string, rank: number, most: number): Promise<number> {
    return Math.min(most, this.#waiting(lane).filter(({ job }) => job.rank < rank).length);
  }

  async due(shard: number, until: number, cursor: string | undefined, limit: number): Promise<Page<Due>> {
    if (shard < 0 || shard >= activeShards) throw new RangeError(`There is no shard ${shard}.`);
    const due = this.#indexed()
      .filter(({ job, keys }) => job.checkAt <= until && keys.activeShard === `${shard}`)
      .map(({ job }) => job)
      .toSorted((a, b) => a.checkAt - b.checkAt || compare(a.id, b.id));
    const { items, next } = pageOf(due, (job) => [job.checkAt, job.id], cursor, limit);
    return { items: items.map(({ id, checkAt }) => ({ id, checkAt })), next };
  }

  async flagged(lane: string, cursor: string | undefined, limit: number): Promise<Page<Flagged>> {
    const { items, next } = this.#flagged(lane, cursor, limit);
    const entries = items.map((entry) => {
      const [since, id] = flaggedPlaceOf(entry);
      return { id, since, cursor: JSON.stringify([since, id]) };
    });
    return { items: entries, next };
  }

  async glanceFlagged(lane: string, cursor: string | undefined, limit: number): Promise<Page<Job>> {
    const { items, next } = this.#flagged(lane, cursor, limit);
    return { items: items.map(({ job }) => job), next };
  }

  #flagged(lane: string, cursor: string | undefined, limit: number): Page<Indexed> {
    const flagged = this.#indexed()
      .filter(({ keys }) => keys.attention === lane && keys.flaggedAt !== undefined)
      .toSorted((a, b) => comparePlaces(flaggedPlaceOf(a), flaggedPlaceOf(b), 1));
    return pageOf(flagged, flaggedPlaceOf, cursor, limit);
  }

  async ofOwner(
    owner: string,
    states: readonly State[] | undefined,
    cursor: string | undefined,
    limit: number,
  ): Promise<Page<string>> {
    const owned = this.#indexed()
      .map(({ job }) => job)
      .filter((job) => job.owner === owner)
      .toSorted((a, b) => b.createdAt - a.createdAt || compare(b.id, a.id));
    const { items, next } = pageOf(owned, (job) => [-job.createdAt, job.id], cursor, limit, -1);
    const wanted = items.filter(({ state }) => states === undefined || states.includes(state));
    return { items: wanted.map(({ id }) => id), next };
  }

  #waiting(lane: string): readonly Indexed[] {
    return this.#indexed()
      .filter(({ keys }) => keys.queuedLane === lane)
      .toSorted((a, b) => a.job.rank - b.job.rank || compare(a.job.id, b.job.id));
  }

  #indexed(): readonly Indexed[] {
    const { written } = this.#store;
    const visible = written.length - this.lagWrites;
    for (; this.#applied < visible; this.#applied += 1) {
      const write = written[this.#applied];
      if (write?.job === undefined) this.#seen.delete(write?.id ?? '');
      else this.#seen.set(write.id, { job: write.job, keys: this.#keysOf(write.job) });
    }
    return [...this.#seen.values()];
  }
}

type Place = readonly [number, string];

function flaggedPlaceOf({ job, keys }: Indexed): Place {
  return [keys.flaggedAt ?? 0, job.id];
}

/** A cursor names the last item seen, so that items which come and go between pages shift nothing. */
function pageOf<T>(
  sorted: readonly T[],
  placeOf: (item: T) => Place,
  cursor: string | undefined,
  limit: number,
  idOrder: 1 | -1 = 1,
): Page<T> {
  const after = cursor === undefined ? undefined : (JSON.parse(cursor) as Place);
  const rest = after === undefined ? sorted : sorted.filter((item) => comparePlaces(placeOf(item), after, idOrder) > 0);
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  return { items, next: last !== undefined && rest.length > limit ? JSON.stringify(placeOf(last)) : undefined };
}

function comparePlaces(a: Place, b: Place, idOrder: 1 | -1): number {
  return a[0] - b[0] || idOrder * compare(a[1], b[1]);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
