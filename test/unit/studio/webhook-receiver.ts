import { createServer } from 'node:http';
import { onTestFinished } from 'vitest';

import { close, listen } from '../../../local/studio/server.ts';
import { readJob, type ShownJob } from './studio-client.ts';

export interface ReceivedWebhook {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
  readonly job: ShownJob;
}

/** Takes webhooks and answers each with the next status of its list; 204 once that is used up. */
export async function openReceiver(statuses: number[] = []) {
  const received: ReceivedWebhook[] = [];
  const broken: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('aborted', () => broken.push(String(request.headers['webhook-id'])));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const header = (name: string) => String(request.headers[name]);
      received.push({
        id: header('webhook-id'),
        timestamp: header('webhook-timestamp'),
        signature: header('webhook-signature'),
        body,
        job: readJob(JSON.parse(body)),
      });
      response.writeHead(statuses.shift() ?? 204).end();
    });
  });
  const port = await listen(server, '127.0.0.1', 0);
  onTestFinished(() => close(server));
  const jobStatuses = () => received.map(({ job }) => job.status);
  return { url: `http://127.0.0.1:${port}/hook`, received, broken, statuses, jobStatuses };
}
