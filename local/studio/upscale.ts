import { Worker } from 'node:worker_threads';

import { describePicture } from './picture.ts';
import type { UpscaleReply, UpscaleRequest } from './upscale-message.ts';
import type { Watch, WorkOutcome } from './work.ts';

interface Pending {
  readonly watch: Watch;
  readonly resolve: (reply: Exclude<UpscaleReply, { type: 'tile' }>) => void;
  readonly reject: (error: Error) => void;
}

interface Thread {
  readonly worker: Worker;
  readonly pending: Map<number, Pending>;
}

/** Super-resolution in a thread of its own, started with the first picture; a thread that broke is replaced. */
export class Upscaler {
  #thread: Thread | undefined;
  #lastId = 0;

  /** Twice the width and height. Throws if the thread breaks. */
  async upscale(picture: Buffer, watch: Watch): Promise<WorkOutcome> {
    if (watch.signal.aborted) return { outcome: 'stopped' };
    const reply = await this.#ask(new Uint8Array(picture), watch);
    switch (reply.type) {
      case 'stopped':
        return { outcome: 'stopped' };
      case 'failed':
        return { outcome: 'failed', reason: reply.reason };
      case 'made':
        return { outcome: 'made', picture: { bytes: reply.picture, facts: await describePicture(reply.picture) } };
    }
  }

  async close(): Promise<void> {
    await this.#thread?.worker.terminate();
  }

  async #ask(picture: Uint8Array, watch: Watch): Promise<Exclude<UpscaleReply, { type: 'tile' }>> {
    const { worker, pending } = (this.#thread ??= this.#startThread());
    this.#lastId += 1;
    const id = this.#lastId;
    const stop = () => post(worker, { type: 'stop', id });
    try {
      return await new Promise((resolve, reject) => {
        pending.set(id, { watch, resolve, reject });
        post(worker, { type: 'upscale', id, picture });
        watch.signal.addEventListener('abort', stop, { once: true });
      });
    } finally {
      pending.delete(id);
      watch.signal.removeEventListener('abort', stop);
    }
  }

  #startThread(): Thread {
    const worker = new Worker(new URL('./upscale-thread.ts', import.meta.url));
    const pending: Thread['pending'] = new Map();
    const thread: Thread = { worker, pending };
    const end = (error: Error) => {
      if (this.#thread === thread) this.#thread = undefined;
      for (const { reject } of pending.values()) reject(error);
    };
    worker.on('message', (reply: UpscaleReply) => settle(pending, reply));
    worker.once('error', (error) => end(error instanceof Error ? error : new Error(String(error))));
    worker.once('exit', (code) => end(new Error(`The upscaling thread ended with code ${code}.`)));
    return thread;
  }
}

function post(worker: Worker, request: UpscaleRequest): void {
  worker.postMessage(request);
}

function settle(pending: Thread['pending'], reply: UpscaleReply): void {
  const waiting = pending.get(reply.id);
  if (!waiting) return;
  if (reply.type !== 'tile') return waiting.resolve(reply);
  waiting.watch.report({ percent: (reply.done / reply.tiles) * 98, stage: 'upscaling' });
}
