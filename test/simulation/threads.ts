import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { LevelReport, Task } from './levels.ts';

/** Performs tasks on so many threads. The order of the reports is that of their ends. */
export async function performAll(
  tasks: Iterator<Task>,
  threads: number,
  onReport: (report: LevelReport) => void,
): Promise<void> {
  await Promise.all(Array.from({ length: threads }, async () => await performOnThread(tasks, onReport)));
}

async function performOnThread(tasks: Iterator<Task>, onReport: (report: LevelReport) => void): Promise<void> {
  const thread = new Worker(new URL('worker.ts', import.meta.url));
  try {
    for (let next = tasks.next(); next.done !== true; next = tasks.next()) {
      const reported = once(thread, 'message');
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
      thread.postMessage(next.value);
      const [report] = (await reported) as [LevelReport];
      onReport(report);
    }
  } finally {
    await thread.terminate();
  }
}
