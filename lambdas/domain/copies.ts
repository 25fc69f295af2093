/**
 * A picture may be 64 MB, and is in memory more than once while it is copied: so many at once are what a tick has room
 * for, however many jobs are found finished. A tick that dies of it would die of it again each minute.
 */
const mostAtOnce = 4;

/** The copies of one tick. */
export class Copies {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  get isFull(): boolean {
    return this.#running >= mostAtOnce;
  }

  async run<T>(copy: () => Promise<T>): Promise<T> {
    // Whoever leaves hands its place to the one that waits longest.
    if (this.isFull) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      return await copy();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
