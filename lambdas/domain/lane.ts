/** One pool of vendor capacity: its cap, its order, and who holds a unit of it. Times are epoch ms. */

/** Caps are kept in one item, which a hold rewrites: this bounds its size. A larger pool is two lanes. */
export const maxCap = 100;

/** An unbound hold younger than this may belong to a worker between its hold and its claim. */
export const minHoldAgeMs = 30_000;

export type LaneState = 'open' | 'paused' | 'tripped';

export interface HeldUnit {
  readonly jobId: string;
  /** The attempt that the claim will make: the one read before the hold, plus one. */
  readonly attempt: number;
  readonly acquiredAt: number;
}

export interface Lane {
  readonly lane: string;
  readonly cap: number;
  /** The deployment's cap that it took over last. It takes over a changed one; a person's change holds until then. */
  readonly deployedCap: number;
  readonly state: LaneState;
  readonly by: string;
  readonly reason: string;
  /** When it came into this state: names this very stay in it. */
  readonly since: number;
  /** Nobody holds before this: the vendor asked us to wait, or an open probe is out. */
  readonly notBefore: number;
  /** By token. */
  readonly held: Readonly<Record<string, HeldUnit>>;
  /** The rank of the job that was last begun. */
  readonly virtualTime: number;
  /** How long it has been closed in all, this stay excluded: the clock of `expired_in_queue` stands still meanwhile. */
  readonly closedMs: number;
}

export function freeUnits(lane: Lane): number {
  return Math.max(0, lane.cap - Object.keys(lane.held).length);
}

/** Whether a worker may hold a unit of it now; in a tripped lane that is the probe. */
export function hasRoom(lane: Lane, now: number): boolean {
  return lane.state !== 'paused' && lane.notBefore <= now && freeUnits(lane) > 0;
}

export function closedMsUntil(lane: Lane, now: number): number {
  return lane.closedMs + (lane.state === 'open' ? 0 : Math.max(0, now - lane.since));
}

/**
 * Start-time fair queuing: a job begins where the lane stands or after its owner's last one, whichever is later, so an
 * owner's burst is spread among the others' jobs instead of standing before them.
 */
export function nextRank(virtualTime: number, lastRank: number | undefined): number {
  return Math.max(virtualTime, lastRank ?? 0) + 1;
}
