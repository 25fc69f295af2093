/** The protocol's own times. Those of a vendor are in its traits, those of a feature on its jobs. */

/** From a claim to the last moment at which its request may start. */
export const sendLeadMs = 10_000;

/** How far two Lambdas' clocks may differ. */
export const clockSkewMs = 5_000;

/** A watch that was not extended for so long has no worker any more. */
export const watchLeaseMs = 45_000;

/** A worker with a watch extends it at least so often, ticks or not. */
export const watchExtendMs = 15_000;

/** A worker that has less than this left hands its watch over. */
export const handOverMs = 20_000;

/** One question to a vendor. */
export const askTimeoutMs = 10_000;

/**
 * A flagged job keeps its picture and its request until a person settles it, and nothing bounds how long that takes: both
 * are kept for the retention of finished jobs and this much more, from the submit on. Whatever a submit that died leaves
 * behind goes with that, too.
 */
export const settlingDays = 30;

/**
 * Whose a vendor's job is stays known for so long after it was first said, and no longer than its job once that has ended
 * with it. It outlives all that may still name the vendor's job: webhooks that come late, and the bill of a year.
 */
export const vendorLinkMs = 400 * 86_400_000;

/**
 * A ring that finds a lane not to be used yet rings once more where the wait is no longer than this. A longer one is left
 * to whoever made it, who rang for its end, and to the ticks: or all rings of a long queue would go round in it.
 */
export const longestRingWaitMs = 15_000;

/** A tripped lane lets one job in per so long: the probe that finds out whether the account is well again. */
export const probeEveryMs = 60_000;

/** The schedule's interval: the promise of "the truth within one interval" is counted in it. */
export const tickMs = 60_000;

/**
 * What is due then is due at the first tick after `time`, once per tick. The schedule keeps a pace, but ticks at whatever
 * second of the minute it likes: what waited for the next full minute would miss a tick, and take up to two intervals.
 */
export function nextTick(time: number): number {
  return time + 1;
}
