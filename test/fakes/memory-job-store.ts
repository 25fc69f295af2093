import type { Hold, Job, JobRequest, Tombstone } from '../../lambdas/domain/job.ts';
import { isTerminal } from '../../lambdas/domain/job.ts';
import { advance, rowOf, type Move, type To, type Transition } from '../../lambdas/domain/lifecycle.ts';
import type { Created, Followed, JobStore, Linked, Moved, Read } from '../../lambdas/domain/ports.ts';

const maxFollowers = 8;

/** The jobs in memory. A move is the lifecycle's own `advance`: the reference that every adapter is compared with. */
export class MemoryJobStore implements JobStore {
  readonly #items = new Map<string, Read>();
  readonly #requests = new Map<string, Map<string, JobRequest>>();
  readonly #links = new Map<string, { jobId: string; generation: number }>();
  readonly #erasers: ((id: string) => number)[] = [];
  readonly #written: { id: string; job: Job | undefined }[] = [];
  #all: { readonly at: number; readonly jobs: readonly Job[] } = { at: 0, jobs: [] };

  /** Every write of a job in order, `undefined` for an erased one: what an index is made from. */
  get written(): readonly { readonly id: string; readonly job: Job | undefined }[] {
    return this.#written;
  }

  /** The jobs that are not erased. */
  all(): readonly Job[] {
    const at = this.#written.length;
    if (this.#all.at !== at) {
      this.#all = { at, jobs: [...this.#items.values()].flatMap((read) => (read.kind === 'job' ? [read.job] : [])) };
    }
    return this.#all.jobs;
  }

  /** Puts a job as it is, whatever stood there. */
  put(job: Job): void {
    this.mirror(job.id, { kind: 'job', job });
  }

  /** What is known of an id is what was read of it elsewhere. */
  mirror(id: string, read: Read | undefined): void {
    if (read === undefined) this.#items.delete(id);
    else this.#items.set(id, read);
    this.#written.push({ id, job: read?.kind === 'job' ? read.job : undefined });
  }

  /** The job, which the test knows to be there. */
  get(id: string): Job {
    const found = this.#items.get(id);
    if (found?.kind !== 'job') throw new Error(`There is no job ${id}.`);
    return found.job;
  }

  /** Siblings that another store keeps: goes with `eraseSiblings`, says how many items went. */
  whenSiblingsAreErased(erase: (id: string) => number): void {
    this.#erasers.push(erase);
  }

  async read(id: string): Promise<Read | undefined> {
    return this.#items.get(id);
  }

  async create(job: Job<'queued'>): Promise<Created> {
    const found = this.#items.get(job.id);
    if (found === undefined) {
      this.put(job);
      return { kind: 'created' };
    }
    const own = found.kind === 'job' && found.job.submitToken === job.submitToken;
    return own ? { kind: 'created' } : { kind: 'exists', found };
  }

  async move<T extends Transition>(moving: Move<T>): Promise<Moved<T>> {
    const stored = this.#job(moving.job.id);
    if (stored === undefined) return { kind: 'refused', actual: undefined };
    const moved = advance(stored, moving);
    if (moved === undefined) return { kind: 'refused', actual: stored };
    this.put(moved);
    const unbound: Hold | undefined = rowOf(moving.transition).unbinds ? stored.hold : undefined;
    return { kind: 'moved', job: moved as Job<To<T>>, unbound, followers: stored.followers };
  }

  /** Nothing goes by itself here: `keptUntil` is only remembered. */
  readonly keptUntil = new Map<string, number>();

  async putRequest(id: string, submitToken: string, request: JobRequest, keptUntil?: number): Promise<void> {
    if (keptUntil !== undefined) this.keptUntil.set(submitToken, keptUntil);
    const requests = this.#requests.get(id) ?? new Map<string, JobRequest>();
    this.#requests.set(id, requests.set(submitToken, request));
  }

  async readRequest(id: string, submitToken: string): Promise<JobRequest | undefined> {
    return this.#requests.get(id)?.get(submitToken);
  }

  async deleteRequest(id: string, submitToken: string): Promise<void> {
    this.#requests.get(id)?.delete(submitToken);
  }

  async linkVendorJob(
    vendor: string,
    vendorJobId: string,
    jobId: string,
    generation: number,
    keptUntil?: number,
  ): Promise<Linked> {
    const key = JSON.stringify([vendor, vendorJobId]);
    const owner = this.#links.get(key);
    if (owner === undefined) this.#links.set(key, { jobId, generation });
    if (owner === undefined && keptUntil !== undefined) this.keptUntil.set(vendorJobId, keptUntil);
    const isOurs = owner === undefined || (owner.jobId === jobId && owner.generation === generation);
    return isOurs ? { kind: 'linked', isNew: owner === undefined } : { kind: 'owned', ...owner };
  }

  async vendorJobOwner(
    vendor: string,
    vendorJobId: string,
  ): Promise<{ readonly jobId: string; readonly generation: number } | undefined> {
    return this.#links.get(JSON.stringify([vendor, vendorJobId]));
  }

  async follow(id: string, owner: string, connectionId: string): Promise<Followed> {
    const job = this.#job(id);
    if (job === undefined || job.owner !== owner) return { kind: 'absent' };
    if (isTerminal(job.state) || job.followers.includes(connectionId)) return { kind: 'following', job };
    if (job.followers.length >= maxFollowers) return { kind: 'full', job };
    const followed = { ...job, followers: [...job.followers, connectionId] };
    this.put(followed);
    return { kind: 'following', job: followed };
  }

  async unfollow(id: string, connectionId: string): Promise<void> {
    const job = this.#job(id);
    if (job === undefined) return;
    this.put({ ...job, followers: job.followers.filter((follower) => follower !== connectionId) });
  }

  async erase(job: Job, erasedAt: number): Promise<'erased' | 'moved_on'> {
    const stored = this.#items.get(job.id);
    if (stored === undefined) return 'moved_on';
    if (stored.kind === 'erased') return stored.tombstone.erasedAt === erasedAt ? 'erased' : 'moved_on';
    const actual = stored.job;
    if (!isTerminal(actual.state) || actual.hold !== undefined || actual.version !== job.version) return 'moved_on';
    const tombstone: Tombstone = { id: actual.id, owner: actual.owner, erasedAt };
    this.mirror(job.id, { kind: 'erased', tombstone });
    return 'erased';
  }

  async eraseSiblings(id: string): Promise<number> {
    const requests = this.#requests.get(id)?.size ?? 0;
    this.#requests.delete(id);
    return this.#erasers.reduce((erased, erase) => erased + erase(id), requests);
  }

  #job(id: string): Job | undefined {
    const found = this.#items.get(id);
    return found?.kind === 'job' ? found.job : undefined;
  }
}
