import type { JobBody } from '../../lambdas/http/job-body.ts';
import type { Ledger } from '../e2e/harness/studio.ts';

/** The time after the faults, and what the protocol grants itself in it. */
export interface Calm {
  readonly fromMs: number;
  /** By then each lease of a dead worker, and each deadline of a send whose answer was lost, has run out. */
  readonly orphansKnownMs: number;
  readonly intervalMs: number;
  /** What a tick needs to ask, to copy the picture and to write. */
  readonly tickTakesMs: number;
}

/** A flag that a person settled. */
export interface Act {
  readonly jobId: string;
  readonly flaggedAtMs: number;
  readonly settledAtMs: number;
}

/** A moment of the calm at which a job said what had become of it. */
export interface Truth {
  readonly jobId: string;
  readonly said: 'its end' | 'that nobody can tell';
  /** It was begun before the calm: its worker, its answer or its webhook may be lost. */
  readonly isOrphan: boolean;
  /** How long after it could be known. */
  readonly lateMs: number;
}

/** Everything that was said in the calm, and how late. */
export function truthsOf(
  calm: Calm,
  jobs: readonly JobBody[],
  { accepted }: Ledger,
  acts: readonly Act[],
): readonly Truth[] {
  const flags = acts
    .filter(({ flaggedAtMs }) => flaggedAtMs >= calm.fromMs)
    .map(({ jobId, flaggedAtMs }): Truth => {
      const lateMs = Math.max(0, flaggedAtMs - calm.orphansKnownMs);
      return { jobId, said: 'that nobody can tell', isOrphan: true, lateMs };
    });
  const ends = jobs.flatMap((job): readonly Truth[] => {
    const endedAtMs = timeOf(job.finishedAt);
    const startedAtMs = timeOf(job.startedAt);
    // Never begun: its end is its owner's own word.
    if (endedAtMs === undefined || startedAtMs === undefined || endedAtMs < calm.fromMs) return [];
    const isOrphan = startedAtMs < calm.fromMs;
    const sold = accepted.findLast(({ key }) => key?.startsWith(`${job.id}.`));
    const settledAtMs = acts.findLast(({ jobId }) => jobId === job.id)?.settledAtMs;
    const knownFrom = [timeOf(sold?.finishedAt), settledAtMs, isOrphan ? calm.orphansKnownMs : undefined];
    const knowableAtMs = Math.max(...knownFrom.filter((time) => time !== undefined));
    return [{ jobId: job.id, said: 'its end', isOrphan, lateMs: Math.max(0, endedAtMs - knowableAtMs) }];
  });
  return [...flags, ...ends];
}

function timeOf(time: string | null | undefined): number | undefined {
  return time == null ? undefined : Date.parse(time);
}
