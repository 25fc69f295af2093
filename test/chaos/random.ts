/** Random-looking, and the same for the same seed: mulberry32. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, and not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  whole(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    const picked = choices[this.whole(0, choices.length - 1)];
    if (picked === undefined) throw new Error('Nothing to pick from.');
    return picked;
  }

  /** So many different numbers from 0 up to, and not including, `below`. */
  sample(below: number, count: number): number[] {
    const numbers = Array.from({ length: below }, (_, number) => ({ number, lot: this.next() }));
    return numbers
      .toSorted((a, b) => a.lot - b.lot)
      .slice(0, count)
      .map(({ number }) => number);
  }
}
