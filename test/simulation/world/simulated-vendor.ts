import type { DedupeClass, VendorTraits } from '../../../lambdas/domain/vendor.ts';
import type { VendorAnswer } from './faults.ts';
import type { Timeline } from './timeline.ts';

export interface VendorSetup {
  readonly name: string;
  readonly dedupe: DedupeClass;
  /** Its answer is the picture, after the whole run. */
  readonly isSynchronous?: boolean;
  readonly runMs?: number;
  readonly pollMs?: number;
  readonly ends?: 'succeeded' | 'failed';
  readonly webhooks?: 'none' | 'reliable';
  /** After each of its events; by default soon, once more, and once when nobody expects it any more. */
  readonly webhookDelaysMs?: readonly number[];
  readonly onCancel?: 'obeys' | 'goes_on';
  /** In order of its answers; then it accepts. */
  readonly answers?: readonly VendorAnswer[];
  /** It says of this job's requests that our account may not. */
  readonly forbids?: string;
  /** For so long after a run began, a look-up doesn't find it. */
  readonly listingLagMs?: number;
  readonly traits?: Partial<VendorTraits>;
  /** The first so many asks about a run that ended are answered with nothing that can be fetched. */
  readonly unfetchable?: 'lost' | undefined;
}

export interface VendorRun {
  readonly id: string;
  readonly key: string;
  readonly jobId: string;
  readonly callbackUrl: string | undefined;
  readonly acceptedAt: number;
  status: 'running' | 'succeeded' | 'failed' | 'canceled';
  endedAt: number | undefined;
  cancelAsked: boolean;
}

export type Arrived =
  | { readonly kind: 'taken'; readonly run: VendorRun; readonly isOriginal: boolean }
  | { readonly kind: 'key_reused' };

const traitsByDefault = {
  listingLagMs: 10_000,
  maxLifeMs: 60_000,
  sendTimeoutMs: 5_000,
  maxSends: 4,
  sendWindowMs: 120_000,
} as const;

/** A vendor that really counts: what it took per key, what runs at each instant, what it would bill. */
export class SimulatedVendor {
  readonly setup: VendorSetup;
  readonly traits: VendorTraits;
  readonly runs: VendorRun[] = [];
  /** The keys whose request it refused. */
  readonly refused = new Set<string>();
  posts = 0;
  /** It doesn't answer questions meanwhile. */
  isDown = false;
  /** It says that it knows nothing of anything meanwhile. */
  #forgets = false;
  hasForgotten = false;
  /** Its verdict on our account. */
  accountIsGood = true;
  onTaken: (run: VendorRun, before: readonly VendorRun[]) => void = () => undefined;
  onEvent: (run: VendorRun) => void = () => undefined;
  readonly #timeline: Timeline;
  readonly #answers: VendorAnswer[];

  constructor(setup: VendorSetup, timeline: Timeline) {
    this.setup = setup;
    this.#timeline = timeline;
    this.#answers = [...(setup.answers ?? [])];
    this.traits = {
      ...traitsByDefault,
      dedupe: setup.dedupe,
      dedupeMs: setup.dedupe === 'replay' ? 150_000 : 0,
      absence: setup.dedupe === 'lookup' ? 'proof' : 'hint',
      ...setup.traits,
    };
  }

  get forgets(): boolean {
    return this.#forgets;
  }

  set forgets(forgets: boolean) {
    this.#forgets = forgets;
    this.hasForgotten ||= forgets;
  }

  nextAnswer(jobId: string): VendorAnswer {
    if (!this.accountIsGood || this.setup.forbids === jobId) return 'account';
    return this.#answers.shift() ?? 'accept';
  }

  runsOf(jobId: string): readonly VendorRun[] {
    return this.runs.filter((run) => run.jobId === jobId);
  }

  get running(): readonly VendorRun[] {
    return this.runs.filter(({ status }) => status === 'running');
  }

  run(id: string): VendorRun | undefined {
    return this.runs.find((run) => run.id === id);
  }

  /** A request is in. */
  arrive(key: string, callbackUrl: string | undefined): Arrived {
    const known = this.runs.filter((run) => run.key === key);
    const original = this.#original(known);
    if (original === 'refused') return { kind: 'key_reused' };
    if (original !== undefined) return { kind: 'taken', run: original, isOriginal: true };
    const run: VendorRun = {
      id: `${this.setup.name}-${this.runs.length + 1}`,
      key,
      jobId: key.slice(0, key.lastIndexOf('.')),
      callbackUrl,
      acceptedAt: this.#timeline.now(),
      status: 'running',
      endedAt: undefined,
      cancelAsked: false,
    };
    this.runs.push(run);
    this.onTaken(run, known);
    this.onEvent(run);
    this.#timeline.after(this.setup.runMs ?? 3_000, () => this.#end(run, this.setup.ends ?? 'succeeded'));
    return { kind: 'taken', run, isOriginal: false };
  }

  cancel(run: VendorRun): void {
    run.cancelAsked = true;
    if (this.setup.onCancel !== 'goes_on') this.#timeline.after(400, () => this.#end(run, 'canceled'));
  }

  find(key: string): VendorRun | undefined {
    const lag = this.setup.listingLagMs ?? 2_000;
    return this.runs.find((run) => run.key === key && this.#timeline.now() >= run.acceptedAt + lag);
  }

  #original(known: readonly VendorRun[]): VendorRun | 'refused' | undefined {
    const first = known[0];
    if (first === undefined) return undefined;
    switch (this.traits.dedupe) {
      case 'replay':
        return this.#timeline.now() - first.acceptedAt < this.traits.dedupeMs ? first : undefined;
      case 'reject':
        return 'refused';
      case 'inflight':
        return known.find(({ status }) => status === 'running');
      case 'lookup':
      case 'none':
        return undefined;
    }
  }

  #end(run: VendorRun, status: 'succeeded' | 'failed' | 'canceled'): void {
    if (run.status !== 'running') return;
    run.status = status;
    run.endedAt = this.#timeline.now();
    this.onEvent(run);
  }
}
