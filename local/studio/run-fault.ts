import type { FaultAt } from './fault.ts';
import { describePicture } from './picture.ts';
import { pause } from './pause.ts';
import type { Watch, WorkOutcome } from './work.ts';

/** Plays a fault in the place of the work, or before it: undefined means that the work is still to be done. */
export async function playRunFault(
  fault: FaultAt<'run'>,
  input: Buffer,
  watch: Watch,
  hurried: AbortSignal,
): Promise<WorkOutcome | undefined> {
  switch (fault.fault) {
    case 'slow':
      await tick(fault.seconds, 1, 50, watch, hurried);
      return watch.signal.aborted ? { outcome: 'stopped' } : undefined;
    case 'fail':
      await tick(fault.seconds, 1, 50, watch, hurried);
      return watch.signal.aborted ? { outcome: 'stopped' } : { outcome: 'failed', reason: fault.error };
    case 'ticks':
      await tick(fault.seconds, fault.perSecond, 100, watch, hurried);
      if (watch.signal.aborted) return { outcome: 'stopped' };
      return { outcome: 'made', picture: { bytes: input, facts: await describePicture(input) } };
  }
}

/** Reports evenly from 0 up to `lastPercent`, at times counted from the start, so that the rate doesn't drift. */
async function tick(
  seconds: number,
  perSecond: number,
  lastPercent: number,
  watch: Watch,
  hurried: AbortSignal,
): Promise<void> {
  const signal = AbortSignal.any([watch.signal, hurried]);
  const startedAtMs = performance.now();
  const ticks = Math.max(1, Math.round(seconds * perSecond));
  for (let index = 1; index <= ticks; index += 1) {
    const dueMs = startedAtMs + (index / ticks) * seconds * 1_000;
    if ((await pause(Math.max(0, dueMs - performance.now()), signal)) === 'aborted') return;
    watch.report({ percent: (index / ticks) * lastPercent, stage: 'working' });
  }
}
