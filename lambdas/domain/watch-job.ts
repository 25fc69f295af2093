import { applyWord } from './apply-word.ts';
import type { Job } from './job.ts';
import { move } from './lifecycle.ts';
import { advanceProgress, throttle, untouched, type Throttle, type Tick } from './progress-throttle.ts';
import { askTimeoutMs, handOverMs, nextTick, watchExtendMs, watchLeaseMs } from './timing.ts';
import type { Vendor, VendorWord } from './vendor.ts';
import type { World } from './world.ts';

/** How long the invocation may go on. */
export interface Shift {
  /** Epoch ms at which the function is killed. */
  readonly endsAt: number;
  /** Aborted before the function returns: a frozen sandbox must not thaw in the middle of a request. */
  readonly signal: AbortSignal;
}

export type Watched =
  | { readonly kind: 'settled' }
  /** Parked, or another worker has it. */
  | { readonly kind: 'left' }
  /** To be gone on with by another invocation, which was rung for. */
  | { readonly kind: 'handed_over' };

/** One job's watch. Two watchers are safe, since every write is fenced by the attempt, and rare, by `watchUntil`. */
class Watch {
  readonly #world: World;
  readonly #vendor: Vendor;
  #job: Job<'running'>;
  #throttle: Throttle;
  #extendedAt: number;
  #cancelAsked = false;
  #newest: Tick | undefined;

  constructor(world: World, vendor: Vendor, job: Job<'running'>) {
    this.#world = world;
    this.#vendor = vendor;
    this.#job = job;
    this.#throttle = { ...untouched, stored: job.progress };
    this.#extendedAt = world.clock.now();
  }

  async until(shift: Shift): Promise<Watched> {
    const stop = new AbortController();
    const signal = AbortSignal.any([shift.signal, stop.signal]);
    const words = this.#vendor.watch(this.#job.vendorJobId, signal)[Symbol.asyncIterator]();
    try {
      await this.#cancelIfAsked(signal);
      // Asked for only when it is waited for: one that fails unseen would end the whole process.
      let word: Promise<IteratorResult<VendorWord>> | undefined;
      for (;;) {
        word ??= words.next();
        const next = await this.#nextOrPulse(word, signal);
        const left = next === 'pulse' ? await this.#tickAgain() : await this.#takeNext(next, signal);
        if (left !== undefined) return left;
        if (next !== 'pulse') word = undefined;
        if (this.#isOver(shift)) return await this.#handOver();
        if (!(await this.#keepLease(signal))) return { kind: 'left' };
      }
    } finally {
      stop.abort('settled');
      await words.return?.();
    }
  }

  /** A silent stream must not cost the lease, the deadline or a cancel request. */
  async #nextOrPulse(word: Promise<IteratorResult<VendorWord>>, signal: AbortSignal) {
    const pulse = new AbortController();
    const rested = this.#world.waiting.wait(watchExtendMs / 3, AbortSignal.any([signal, pulse.signal]));
    const first = await Promise.race([word, rested.then(() => 'pulse' as const)]);
    pulse.abort('heard');
    return first;
  }

  #isOver(shift: Shift): boolean {
    return shift.signal.aborted || shift.endsAt - this.#world.clock.now() < handOverMs;
  }

  async #takeNext(next: IteratorResult<VendorWord>, signal: AbortSignal): Promise<Watched | undefined> {
    return next.done === true ? await this.#handOver() : await this.#take(next.value, signal);
  }

  async #take(word: VendorWord, signal: AbortSignal): Promise<Watched | undefined> {
    if (word.kind === 'pending') {
      this.#newest = word;
      return await this.#tickAgain();
    }
    const applied = await applyWord(this.#world, this.#job, this.#vendor, word, signal);
    switch (applied.kind) {
      case 'settled':
        return { kind: 'settled' };
      case 'flagged':
        return { kind: 'left' };
      case 'moved_on':
        return { kind: 'left' };
      case 'pending':
        return undefined;
      case 'unreachable':
        // Finished, but its picture can't be had just now: another ring tries again.
        return word.kind === 'succeeded' ? await this.#handOver() : undefined;
      default:
        return applied satisfies never;
    }
  }

  /** The newest word, where the throttle kept it back: a vendor that falls silent must not leave an older one standing. */
  async #tickAgain(): Promise<Watched | undefined> {
    if (this.#newest === undefined) return undefined;
    return (await this.#tick(this.#newest)) ? undefined : { kind: 'left' };
  }

  async #tick(said: Tick): Promise<boolean> {
    const now = this.#world.clock.now();
    const shown = this.#throttle.sent ?? this.#throttle.stored;
    const progress = advanceProgress(shown, said, now);
    const { store, send, next } = throttle(this.#throttle, progress);
    this.#throttle = next;
    if (store && !(await this.#store(progress))) return false;
    if (send) {
      const { id, version, followers } = this.#job;
      this.#world.feed.send(followers, { type: 'progress', jobId: id, progress, version });
    }
    return true;
  }

  /** Refused: another worker has it. What comes back tells who follows, and whether its owner wants it canceled. */
  async #store(progress: NonNullable<Job['progress']>): Promise<boolean> {
    const now = this.#world.clock.now();
    const watchUntil = Math.min(now + watchLeaseMs, Math.max(this.#job.runUntil, now));
    const moved = await this.#world.jobs.move(move('progress', this.#job, { progress, watchUntil }));
    if (moved.kind === 'refused') return false;
    this.#job = moved.job;
    this.#extendedAt = now;
    this.#throttle = { ...this.#throttle, stored: { ...progress, at: this.#world.clock.now() } };
    return true;
  }

  async #keepLease(signal: AbortSignal): Promise<boolean> {
    const now = this.#world.clock.now();
    if (now - this.#extendedAt >= watchExtendMs) {
      const last = this.#throttle.sent ?? this.#throttle.stored;
      const progress = last ?? { percent: 0, stage: undefined, at: now };
      if (!(await this.#store(progress))) return false;
    }
    await this.#cancelIfAsked(signal);
    return true;
  }

  /** Until the vendor has heard it, then no more in this watch: the vendor's acknowledgement is not the end, its terminal word is. */
  async #cancelIfAsked(signal: AbortSignal): Promise<void> {
    if (this.#job.cancelRequestedAt === undefined || this.#cancelAsked) return;
    const bounded = AbortSignal.any([signal, this.#world.waiting.deadline(askTimeoutMs)]);
    const asked = await this.#vendor.cancel(this.#job.vendorJobId, bounded);
    this.#cancelAsked = asked !== 'unreachable';
  }

  async #handOver(): Promise<Watched> {
    const now = this.#world.clock.now();
    const moved = await this.#world.jobs.move(
      move('surrender', this.#job, { watchUntil: now, checkAt: nextTick(now) }),
    );
    if (moved.kind === 'refused') return { kind: 'left' };
    await this.#world.doorbell.ring(this.#job.lane, this.#job.id, 1_000);
    return { kind: 'handed_over' };
  }
}

export async function watchJob(world: World, vendor: Vendor, job: Job<'running'>, shift: Shift): Promise<Watched> {
  return await new Watch(world, vendor, job).until(shift);
}

/** A worker takes over a watch that expired or was surrendered. Undefined: another one was first. */
export async function attach(world: World, job: Job<'running'>): Promise<Job<'running'> | undefined> {
  const now = world.clock.now();
  const moved = await world.jobs.move(
    move('attach', job, { watchUntil: now + watchLeaseMs, checkAt: now + watchLeaseMs }),
  );
  return moved.kind === 'moved' ? moved.job : undefined;
}
