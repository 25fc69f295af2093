import * as z from 'zod';

const picture = z.object({
  url: z.string().nullable(),
  contentType: z.string(),
  width: z.number(),
  height: z.number(),
});

/** What the demo reads of a job. */
export const demoJob = z.object({
  id: z.string(),
  status: z.string(),
  done: z.boolean(),
  version: z.number(),
  progress: z.object({ percent: z.number(), stage: z.string().nullable() }).nullable(),
  result: picture.nullable(),
  error: z.object({ message: z.string() }).nullable(),
  attention: z.object({ message: z.string() }).nullable(),
});
export type DemoJob = z.infer<typeof demoJob>;

const ticket = z.object({ url: z.string() });

/** The API as an app's server would use it. */
export class DemoApi {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, apiKey: string) {
    this.#url = url;
    this.#headers = { 'X-API-Key': apiKey };
  }

  async submit(photo: Uint8Array<ArrayBuffer>, { key, feature }: { key: string; feature: string }): Promise<DemoJob> {
    const form = new FormData();
    form.set('image', new Blob([photo]), 'photo');
    form.set('feature', feature);
    form.set('consent', 'confirmed');
    const answer = await this.#send('/api/v1/jobs', {
      method: 'POST',
      body: form,
      headers: { 'Idempotency-Key': key },
    });
    return demoJob.parse(answer);
  }

  /** The URL of a socket, its ticket included. */
  async socket(): Promise<string> {
    return ticket.parse(await this.#send('/api/v1/socket-tickets', { method: 'POST' })).url;
  }

  async download(url: string): Promise<Buffer> {
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`The result could not be downloaded: ${answer.status}`);
    return Buffer.from(await answer.arrayBuffer());
  }

  async #send(
    route: string,
    init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> },
  ): Promise<unknown> {
    const answer = await fetch(`${this.#url}${route}`, { ...init, headers: { ...this.#headers, ...init.headers } });
    const body = await answer.text();
    if (!answer.ok) throw new Error(`${init.method} ${route}: ${answer.status} ${body}`);
    return JSON.parse(body);
  }
}
