/**
 * The protocol's times, all of them a tenth or so: a test that waits for a lease to run out needn't wait a minute. The
 * proportions are kept, since the protocol relies on them. Bundled in the place of lambdas/domain/timing.ts.
 */
export * from '../../../lambdas/domain/timing.ts';

export const sendLeadMs = 5_000;
export const clockSkewMs = 1_000;
export const watchLeaseMs = 4_000;
export const watchExtendMs = 1_500;
export const tickMs = 5_000;
export const probeEveryMs = 5_000;
