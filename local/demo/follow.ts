import { WebSocket } from 'ws';
import * as z from 'zod';
import { demoJob, type DemoJob } from './api.ts';

const message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('job'), job: demoJob }),
  z.object({ type: z.literal('progress'), percent: z.number(), stage: z.string().nullable() }),
  z.object({ type: z.literal('pong') }),
  z.object({ type: z.literal('problem'), code: z.string(), detail: z.string().optional() }),
]);

export interface ShownProgress {
  readonly status: string;
  readonly percent: number;
  readonly stage: string | null;
}

/** Follows one job over a socket until `done`: nothing else ends the wait. */
export function followUntilDone(url: string, jobId: string, show: (progress: ShownProgress) => void): Promise<DemoJob> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    let status = 'queued';
    socket.on('open', () => socket.send(JSON.stringify({ action: 'follow', jobIds: [jobId] })));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('The socket was closed before the job was done.')));
    socket.on('message', (data: Buffer) => {
      const said = message.parse(JSON.parse(data.toString('utf8')));
      if (said.type === 'problem') reject(new Error(`The socket says: ${said.detail ?? said.code}`));
      if (said.type === 'progress') show({ status, percent: said.percent, stage: said.stage });
      if (said.type !== 'job') return;
      status = said.job.status;
      show({ status, percent: said.job.progress?.percent ?? 0, stage: said.job.progress?.stage ?? null });
      if (!said.job.done && status !== 'needs_attention') return;
      resolve(said.job);
      socket.close();
    });
  });
}
