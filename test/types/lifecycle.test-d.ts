/** Compiled with everything else, never run: each expected error is an illegal move that must not compile. */
import type { Job } from '../../lambdas/domain/job.ts';
import { move, type From, type To } from '../../lambdas/domain/lifecycle.ts';

declare const queued: Job<'queued'>;
declare const dispatching: Job<'dispatching'>;
declare const running: Job<'running'>;
declare const flagged: Job<'needs_attention'>;
declare const succeeded: Job<'succeeded'>;
declare const undecided: Job;

const times = { sendBy: 1, dispatchBy: 2, checkAt: 3 };
const claim = { ...times, hold: { token: 'h' }, claimToken: 'c', sends: 1, tries: 1, firstTriedAt: 1, startedAt: 1 };
const end = { finishedAt: 1, ttl: 1, checkAt: 1 };
const failure = { code: 'failed_at_vendor', message: '' };
const flag = { code: 'overdue', since: 1 } as const;
const receipt = { vendorJobId: 'v', watchUntil: 1, checkAt: 1, runUntil: 1, startedAt: 1 };

move('claim', queued, claim);
// @ts-expect-error only a job that waits is claimed
move('claim', dispatching, claim);
// @ts-expect-error a job in an unknown state is not claimed
move('claim', undecided, claim);
// @ts-expect-error a claim binds a hold
move('claim', queued, { ...claim, hold: undefined });

move('release', dispatching, { checkAt: 1 });
// @ts-expect-error what runs at the vendor never goes back to the queue
move('release', running, { checkAt: 1 });
// @ts-expect-error a flagged job goes back by proof only
move('release', flagged, { checkAt: 1 });
move('releaseProven', flagged, { checkAt: 1 });

move('accept', dispatching, receipt);
move('accept', flagged, receipt);
// @ts-expect-error an ended job never runs again
move('accept', succeeded, receipt);
// @ts-expect-error a job that was not sent has no receipt
move('accept', queued, receipt);

// @ts-expect-error terminal states never change
move('failAtVendor', succeeded, { ...end, failure });
// @ts-expect-error nothing was sent, so that the vendor has no word
move('failAtVendor', queued, { ...end, failure });
move('failAtVendor', running, { ...end, failure });
// @ts-expect-error a failure has a reason
move('failAtVendor', running, end);

move('cancelQueued', queued, end);
// @ts-expect-error what may have been sent is only asked to be canceled
move('cancelQueued', dispatching, end);
move('askToCancel', dispatching, { cancelRequestedAt: 1 });

move('flagUnknown', dispatching, { flag, maybeSent: true, checkAt: 1 });
// @ts-expect-error a job that is known to run is not flagged for an unknown send
move('flagUnknown', running, { flag, maybeSent: true, checkAt: 1 });
move('flagLost', running, { flag, checkAt: 1 });
// @ts-expect-error a running job only: gone says nothing of a job that was never accepted
move('flagLost', dispatching, { flag, checkAt: 1 });

// @ts-expect-error only a person sends a flagged job again, and nobody any other
move('resend', running, { queuedAt: 1, laneClosedMs: 0, checkAt: 1 });
// @ts-expect-error a move writes its row's fields and no others
move('look', running, { checkAt: 1, rank: 0 });

move('look', undecided, { checkAt: 1 });

/** What a move leads to is known. */
export const claimedTo: To<'claim'> = 'dispatching';
// @ts-expect-error
export const claimedToRunning: To<'claim'> = 'running';
export const askedFrom: From<'askToCancel'> = 'running';
// @ts-expect-error what waits is canceled at once
export const askedFromQueued: From<'askToCancel'> = 'queued';
/** Two transitions, one of which is taken: only what both may leave. */
export const eitherFrom: From<'accept' | 'flagLost'> extends never ? true : false = true;
