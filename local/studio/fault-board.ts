import type { Fault, FaultAt, FaultPoint } from './fault.ts';
import type { Feature } from './order.ts';

interface Posted {
  readonly fault: Fault;
  timesLeft: number;
}

/** The faults that are on. In memory only: a restarted studio behaves. */
export class FaultBoard {
  #posted: Posted[] = [];
  #clearing = new AbortController();
  #hurrying = new AbortController();

  /** Aborts when the faults are next cleared: whatever a fault holds up ends with it. */
  get cleared(): AbortSignal {
    return this.#clearing.signal;
  }

  /** Aborts when the runs that a fault draws out are next told to end, as if their seconds were over. */
  get hurried(): AbortSignal {
    return this.#hurrying.signal;
  }

  post(fault: Fault): void {
    this.#posted.push({ fault, timesLeft: fault.times ?? Infinity });
  }

  clear(): void {
    this.#posted = [];
    const clearing = this.#clearing;
    this.#clearing = new AbortController();
    clearing.abort();
    this.hurry();
  }

  /** Ends what run faults draw out just now. All faults stay on, for what comes. */
  hurry(): void {
    const hurrying = this.#hurrying;
    this.#hurrying = new AbortController();
    hurrying.abort();
  }

  list(): { fault: Fault; timesLeft: number | null }[] {
    return this.#posted.map(({ fault, timesLeft }) => ({
      fault,
      timesLeft: timesLeft === Infinity ? null : timesLeft,
    }));
  }

  /** The oldest fault that fits, used up by one. `feature` is null where it isn't known; only unscoped faults fit then. */
  take<Point extends FaultPoint>(point: Point, feature: Feature | null): FaultAt<Point> | undefined {
    for (const posted of this.#posted) {
      const { fault } = posted;
      if (!isAt(fault, point) || (fault.feature !== undefined && fault.feature !== feature)) continue;
      posted.timesLeft -= 1;
      if (posted.timesLeft <= 0) this.#posted = this.#posted.filter((other) => other !== posted);
      return fault;
    }
    return undefined;
  }
}

function isAt<Point extends FaultPoint>(fault: Fault, point: Point): fault is FaultAt<Point> {
  return fault.point === point;
}
