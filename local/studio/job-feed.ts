import type { StudioJob } from './job.ts';

export interface JobEvent {
  readonly kind: 'status' | 'progress';
  readonly job: StudioJob;
}

/** Who wants to hear of a job, and telling them. Keeps nothing: a late listener starts from the job itself. */
export class JobFeed {
  readonly #listeners = new Map<string, Set<(event: JobEvent) => void>>();

  /** Returns how to stop listening. */
  listen(jobId: string, listener: (event: JobEvent) => void): () => void {
    const listeners = this.#listeners.get(jobId) ?? new Set();
    this.#listeners.set(jobId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(jobId) === listeners) this.#listeners.delete(jobId);
    };
  }

  publish(event: JobEvent): void {
    for (const listener of this.#listeners.get(event.job.id) ?? []) listener(event);
  }
}
