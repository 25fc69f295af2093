import type { Clock } from '../../../lambdas/domain/ports.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  readonly isBackground: boolean;
  /** It has run, or was called off. */
  isDone: boolean;
}

/**
 * Virtual time, single-threaded: everything that waits, waits here. Between two timers every promise that can go on goes
 * on, so that the same run always happens in the same order, and an hour takes as long as its steps.
 */
export class Timeline implements Clock {
  #now: number;
  #order = 0;
  #foreground = 0;
  readonly #heap: Timer[] = [];

  constructor(startMs: number) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  /** Nothing is still to come but what goes on for ever, whatever happens. */
  get isOver(): boolean {
    return this.#foreground === 0;
  }

  /** Returns what calls it off. */
  after(delayMs: number, run: () => void): () => void {
    return this.#add(delayMs, run, false);
  }

  /** As `after`, for what nobody waits for: a schedule, a deadline of somebody who may be gone by then. */
  inBackground(delayMs: number, run: () => void): () => void {
    return this.#add(delayMs, run, true);
  }

  async sleep(durationMs: number): Promise<void> {
    await new Promise<void>((resolve) => this.after(durationMs, resolve));
  }

  /** Runs up to and including a moment, or until `isDone`. */
  async runUntil(moment: number, isDone: () => boolean = () => false): Promise<void> {
    for (;;) {
      await everythingThatCanGoOn();
      if (isDone()) return;
      const next = this.#heap[0];
      if (next === undefined || next.at > moment) break;
      this.#pop();
      if (next.isDone) continue;
      next.isDone = true;
      if (!next.isBackground) this.#foreground -= 1;
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = Math.max(this.#now, moment);
  }

  #add(delayMs: number, run: () => void, isBackground: boolean): () => void {
    const at = this.#now + Math.max(0, delayMs);
    const timer: Timer = { at, order: this.#order, run, isBackground, isDone: false };
    this.#order += 1;
    if (!isBackground) this.#foreground += 1;
    this.#push(timer);
    return () => {
      if (timer.isDone) return;
      timer.isDone = true;
      if (!isBackground) this.#foreground -= 1;
    };
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    heap.push(timer);
    for (let at = heap.length - 1; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!isBefore(heap[at]!, heap[parent]!)) return;
      [heap[at], heap[parent]] = [heap[parent]!, heap[at]!];
      at = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let first = at;
      if (left < heap.length && isBefore(heap[left]!, heap[first]!)) first = left;
      if (right < heap.length && isBefore(heap[right]!, heap[first]!)) first = right;
      if (first === at) return;
      [heap[at], heap[first]] = [heap[first]!, heap[at]!];
      at = first;
    }
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at === b.at ? a.order < b.order : a.at < b.at;
}

async function everythingThatCanGoOn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}
