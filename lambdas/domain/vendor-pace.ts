import type { Clock, Waiting } from './ports.ts';

export interface VendorBudget {
  /** Questions under way at once. */
  readonly concurrency: number;
  readonly perSecond: number;
  /** How long a tick may go on asking this vendor, from its first question on; absent: as long as the tick lasts. */
  readonly budgetMs?: number;
}

export const usualBudget: VendorBudget = { concurrency: 32, perSecond: 50 };

interface Line {
  readonly budget: VendorBudget;
  /** Epoch ms: no question starts at or after it. */
  readonly until: number;
  running: number;
  nextAt: number;
  readonly waiting: (() => void)[];
}

/**
 * One line per vendor: a vendor that never answers fills its own line and no other. Questions that would start after
 * the end are not asked; their jobs stay due.
 */
export class VendorPace {
  readonly #lines = new Map<string, Line>();
  readonly #clock: Clock;
  readonly #waiting: Waiting;
  readonly #budgets: ReadonlyMap<string, VendorBudget>;
  readonly #until: number;
  readonly #signal: AbortSignal;

  /** `budgets`: by vendor; `usualBudget` where none is set. `until`: epoch ms. */
  constructor(
    clock: Clock,
    waiting: Waiting,
    budgets: ReadonlyMap<string, VendorBudget>,
    until: number,
    signal: AbortSignal,
  ) {
    this.#clock = clock;
    this.#waiting = waiting;
    this.#budgets = budgets;
    this.#until = until;
    this.#signal = signal;
  }

  /** Runs `ask` in the vendor's line. Undefined: there was no time left for it. */
  async run<T>(vendor: string, ask: () => Promise<T>): Promise<T | undefined> {
    const line = this.#lineOf(vendor);
    // Whoever leaves hands its place to the one that waits longest: nobody slips in between the two.
    if (line.running >= line.budget.concurrency) await new Promise<void>((resolve) => line.waiting.push(resolve));
    else line.running += 1;
    try {
      if (!(await this.#turn(line))) return undefined;
      return await ask();
    } finally {
      const next = line.waiting.shift();
      if (next === undefined) line.running -= 1;
      else next();
    }
  }

  async #turn(line: Line): Promise<boolean> {
    const now = this.#clock.now();
    const at = Math.max(now, line.nextAt);
    if (at >= line.until || this.#signal.aborted) return false;
    line.nextAt = at + 1000 / line.budget.perSecond;
    if (at > now) await this.#waiting.wait(at - now, this.#signal);
    return !this.#signal.aborted && this.#clock.now() < line.until;
  }

  #lineOf(vendor: string): Line {
    const known = this.#lines.get(vendor);
    if (known !== undefined) return known;
    const budget = this.#budgets.get(vendor) ?? usualBudget;
    const ownUntil = this.#clock.now() + (budget.budgetMs ?? Number.POSITIVE_INFINITY);
    const until = Math.min(this.#until, ownUntil);
    const line: Line = { budget, until, running: 0, nextAt: 0, waiting: [] };
    this.#lines.set(vendor, line);
    return line;
  }
}
