import type { Progress, ResultFacts } from './job.ts';

/** A picture and what its bytes are. */
export interface Picture {
  readonly bytes: Uint8Array;
  readonly facts: ResultFacts;
}

export type WorkOutcome =
  | { readonly outcome: 'made'; readonly picture: Picture }
  | { readonly outcome: 'failed'; readonly reason: string }
  | { readonly outcome: 'stopped' };

/** How one piece of work is watched and stopped. */
export interface Watch {
  readonly signal: AbortSignal;
  report(progress: Progress): void;
}
