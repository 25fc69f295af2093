import type { Progress } from './job.ts';

/**
 * When a tick is stored and when it is sent: leading edge, then at most so often; the newest value wins. The final state
 * goes around it, by its transition.
 */
export const storeEveryMs = 1_000;
/** @connections shares the account's request quota: at most four live values a second per job. */
export const sendEveryMs = 250;

/** The job item is billed as a whole by each tick: it has to stay under 1 KB. */
const longestStage = 24;

export interface Throttle {
  /** The newest that was stored, and the newest that was sent. */
  readonly stored: Progress | undefined;
  readonly sent: Progress | undefined;
}

export const untouched: Throttle = { stored: undefined, sent: undefined };

export interface Tick {
  readonly percent: number | undefined;
  readonly stage: string | undefined;
}

/** Clamped to 0–99 (only the end is 100) and never down: vendors' percentages go backwards and beyond. */
export function advanceProgress(shown: Progress | undefined, tick: Tick, now: number): Progress {
  const said = tick.percent === undefined || Number.isNaN(tick.percent) ? 0 : tick.percent;
  const percent = Math.max(shown?.percent ?? 0, Math.min(99, Math.max(0, Math.floor(said))));
  const stage = tick.stage?.slice(0, longestStage) ?? shown?.stage;
  return { percent, stage, at: now };
}

export interface Throttled {
  readonly next: Throttle;
  readonly store: boolean;
  readonly send: boolean;
}

export function throttle(state: Throttle, progress: Progress): Throttled {
  const store = isDue(state.stored, progress, storeEveryMs);
  const send = isDue(state.sent, progress, sendEveryMs);
  return {
    store,
    send,
    next: { stored: store ? progress : state.stored, sent: send ? progress : state.sent },
  };
}

function isDue(last: Progress | undefined, progress: Progress, everyMs: number): boolean {
  if (last === undefined) return true;
  const changed = last.percent !== progress.percent || last.stage !== progress.stage;
  return changed && progress.at - last.at >= everyMs;
}
