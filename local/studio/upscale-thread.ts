import { parentPort } from 'node:worker_threads';

import { loadSuperResolution } from './super-resolution.ts';
import type { UpscaleReply, UpscaleRequest } from './upscale-message.ts';
import { upscalePicture } from './upscale-picture.ts';

if (!parentPort) throw new Error('This file runs as a worker thread.');
const studio = parentPort;
const reply = (message: UpscaleReply) => studio.postMessage(message);

/** Waits for the first picture: a studio that never upscales loads no model. */
let enlarging: ReturnType<typeof loadSuperResolution> | undefined;
const stopped = new Set<number>();

studio.on('message', (request: UpscaleRequest) => {
  if (request.type === 'stop') stopped.add(request.id);
  // A rejection ends the thread, which the studio sees; it starts another.
  else void upscale(request.id, request.picture);
});

async function upscale(id: number, picture: Uint8Array): Promise<void> {
  enlarging ??= loadSuperResolution();
  const result = await upscalePicture(picture, await enlarging, {
    stopped: () => stopped.has(id),
    tileDone: (done, tiles) => reply({ type: 'tile', id, done, tiles }),
  });
  stopped.delete(id);
  switch (result.outcome) {
    case 'made':
      return reply({ type: 'made', id, picture: result.picture });
    case 'stopped':
      return reply({ type: 'stopped', id });
    case 'damaged':
      return reply({ type: 'failed', id, reason: 'The picture is damaged.' });
  }
}
