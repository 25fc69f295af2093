import { parentPort } from 'node:worker_threads';
import { perform, type Task } from './levels.ts';

/** A thread of `npm run simulate`: performs one task after the other. */
parentPort?.on('message', (task: Task) => {
  // A rejection ends the thread, and with it the whole run.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
  void perform(task).then((report) => parentPort?.postMessage(report));
});
