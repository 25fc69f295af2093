import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** How one answer goes wrong. `accept`: the job is taken although the answer doesn't say so. */
export type AnswerFault =
  | { readonly do: 'drop'; readonly accept?: boolean }
  | { readonly do: 'silent'; readonly accept?: boolean }
  | {
      readonly do: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly accept?: boolean;
    };

export type FaultPoint = 'submit' | 'status' | 'events' | 'cancel' | 'result' | 'lookup';

export interface ScriptedVendorSettings {
  readonly apiKey?: string;
  /** What it does with a key that it knows. */
  readonly onRepeatedKey?: 'replay' | 'reject' | 'run';
}

export interface AcceptedJob {
  readonly id: string;
  readonly key: string | undefined;
  readonly form: Readonly<Record<string, string>>;
  readonly image: { readonly bytes: Uint8Array; readonly contentType: string } | undefined;
}

interface VendorJob extends AcceptedJob {
  status: string;
  percent: number;
  stage: string | null;
  resultUrl: string | undefined;
  picture: Uint8Array | undefined;
  error: { code: string; message: string } | null;
  cancelsAsked: number;
}

/**
 * A vendor that speaks the keyed jobs API over real HTTP and remembers what it took. It runs nothing: a job goes on when
 * the test says so.
 */
export class ScriptedVendorServer {
  apiKey: string;
  /** Submits whose body was read to its end, whatever became of them. */
  posts = 0;
  /** Every request's method and path, in order of arrival. */
  readonly requests: string[] = [];
  private readonly onRepeatedKey: 'replay' | 'reject' | 'run';
  private readonly jobs = new Map<string, VendorJob>();
  private readonly faults = new Map<FaultPoint, AnswerFault[]>();
  private readonly streams = new Map<ServerResponse, string>();
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  private constructor({ apiKey = 'vendor-key', onRepeatedKey = 'replay' }: ScriptedVendorSettings) {
    this.apiKey = apiKey;
    this.onRepeatedKey = onRepeatedKey;
    this.server = createServer((request, response) => void this.serve(request, response));
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  static async start(settings: ScriptedVendorSettings = {}): Promise<ScriptedVendorServer> {
    const vendor = new ScriptedVendorServer(settings);
    await new Promise<void>((listening) => vendor.server.listen(0, '127.0.0.1', listening));
    return vendor;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get accepted(): readonly AcceptedJob[] {
    return [...this.jobs.values()];
  }

  /** The next request at this point goes wrong, once. Faults of one point are played in the order in which they came. */
  fault(point: FaultPoint, fault: AnswerFault): void {
    this.faults.set(point, [...(this.faults.get(point) ?? []), fault]);
  }

  /** Any status string, so that a test can say one that no vendor documents. */
  say(id: string, status: string): void {
    this.change(id, { status });
  }

  progress(id: string, percent: number, stage: string | null = null): void {
    this.change(id, { status: 'running', percent, stage });
  }

  /** `resultUrl` stands in for the vendor's own route. */
  finish(id: string, picture: Uint8Array, resultUrl?: string): void {
    this.change(id, { status: 'succeeded', percent: 100, picture, resultUrl });
  }

  fail(id: string, code: string, message: string): void {
    this.change(id, { status: 'failed', error: { code, message } });
  }

  forget(id: string): void {
    this.jobs.delete(id);
  }

  cancelsAsked(id: string): number {
    return this.job(id).cancelsAsked;
  }

  openStreams(): number {
    return this.streams.size;
  }

  /** Cuts every open stream; the jobs go on. */
  cutStreams(): void {
    for (const response of this.streams.keys()) response.socket?.resetAndDestroy();
  }

  /** Ends every open stream politely, in mid-job. */
  endStreams(): void {
    for (const response of this.streams.keys()) response.end();
  }

  /** Writes as is into every open stream. */
  writeToStreams(text: string): void {
    for (const response of this.streams.keys()) response.write(text);
  }

  /** A webhook about a job, signed as Standard Webhooks says, as its receiver gets it. */
  webhook(id: string, secret: string, at: number): { headers: Record<string, string>; body: Uint8Array } {
    const body = Buffer.from(JSON.stringify({ type: 'job.updated', data: this.present(this.job(id)) }));
    const timestamp = String(Math.floor(at / 1_000));
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    const signature = createHmac('sha256', key).update(`msg_1.${timestamp}.${body.toString()}`).digest('base64');
    return {
      headers: { 'webhook-id': 'msg_1', 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` },
      body,
    };
  }

  async close(): Promise<void> {
    const closed = new Promise((done) => this.server.close(done));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.route(request, response);
    } catch {
      // The caller went away in mid-request: there is nobody to answer.
      response.destroy();
    }
  }

  private async route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? '';
    const { pathname } = new URL(request.url ?? '/', this.baseUrl);
    this.requests.push(`${method} ${pathname}`);
    const body = await readBody(request);
    const submits = method === 'POST' && pathname === '/api/v1/jobs';
    if (submits) this.posts += 1;
    if (request.headers['x-api-key'] !== this.apiKey) {
      return answer(response, 401, { error: { code: 'unauthorized', message: 'Who are you?' } });
    }
    if (submits) return this.submit(request, body, response);
    const byKey = /^\/api\/v1\/jobs\/by-key\/([^/]+)$/.exec(pathname)?.[1];
    if (byKey !== undefined) return this.lookup(decodeURIComponent(byKey), response);
    const [, id = '', part = ''] = /^\/api\/v1\/jobs\/([^/]+)(?:\/(events|cancel|result))?$/.exec(pathname) ?? [];
    return this.serveJob(decodeURIComponent(id), part, response);
  }

  private async submit(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const fault = this.take('submit');
    if (fault && !fault.accept) return this.play(fault, response);
    const key = request.headers['idempotency-key'];
    const taken = await this.accept(typeof key === 'string' ? key : undefined, request, body);
    if (fault) return this.play(fault, response);
    if (taken === 'reused') {
      const error = { code: 'idempotency_key_reuse', message: 'This key was used before.' };
      return answer(response, 422, { error });
    }
    answer(response, taken.isNew ? 202 : 200, this.present(taken.job));
  }

  private async accept(
    key: string | undefined,
    request: IncomingMessage,
    body: Buffer,
  ): Promise<'reused' | { job: VendorJob; isNew: boolean }> {
    const original = key === undefined ? undefined : [...this.jobs.values()].find((job) => job.key === key);
    if (original && this.onRepeatedKey === 'replay') return { job: original, isNew: false };
    if (original && this.onRepeatedKey === 'reject') return 'reused';
    const job: VendorJob = {
      ...(await readForm(request, body)),
      id: `vendor-job-${this.jobs.size + 1}`,
      key,
      status: 'queued',
      percent: 0,
      stage: null,
      resultUrl: undefined,
      picture: undefined,
      error: null,
      cancelsAsked: 0,
    };
    this.jobs.set(job.id, job);
    return { job, isNew: true };
  }

  private lookup(key: string, response: ServerResponse): void {
    const fault = this.take('lookup');
    if (fault) return this.play(fault, response);
    const job = [...this.jobs.values()].find((each) => each.key === key);
    if (job) answer(response, 200, this.present(job));
    else answer(response, 404, { error: { code: 'not_found', message: 'No such key.' } });
  }

  private serveJob(id: string, part: string, response: ServerResponse): void {
    const fault = this.take(pointOf(part));
    if (fault) return this.play(fault, response);
    const job = this.jobs.get(id);
    if (!job) return answer(response, 404, { error: { code: 'not_found', message: 'No such job.' } });
    switch (part) {
      case 'events':
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        this.streams.set(response, id);
        response.on('close', () => this.streams.delete(response));
        response.write(this.event(job));
        return;
      case 'cancel':
        job.cancelsAsked += 1;
        return answer(response, 202, this.present(job));
      case 'result':
        if (!job.picture) return answer(response, 404, {});
        response.writeHead(200, { 'content-type': 'image/png' });
        response.end(job.picture);
        return;
      default:
        return answer(response, 200, this.present(job));
    }
  }

  private change(id: string, change: Partial<VendorJob>): void {
    const job = Object.assign(this.job(id), change);
    for (const [response, streamed] of this.streams) if (streamed === id) response.write(this.event(job));
  }

  private event(job: VendorJob): string {
    return `event: progress\ndata: ${JSON.stringify(this.present(job))}\n\n`;
  }

  private present(job: VendorJob): Record<string, unknown> {
    const url = job.resultUrl ?? `${this.baseUrl}/api/v1/jobs/${job.id}/result`;
    return {
      id: job.id,
      key: job.key ?? null,
      status: job.status,
      progress: { percent: job.percent, stage: job.stage },
      result: job.picture
        ? { url, contentType: 'image/png', bytes: job.picture.byteLength, width: 1, height: 1 }
        : null,
      error: job.error,
    };
  }

  private take(point: FaultPoint): AnswerFault | undefined {
    return this.faults.get(point)?.shift();
  }

  private play(fault: AnswerFault, response: ServerResponse): void {
    switch (fault.do) {
      case 'drop':
        response.socket?.resetAndDestroy();
        return;
      case 'silent':
        return;
      case 'answer':
        response.writeHead(fault.status, fault.headers);
        response.end(fault.body ?? '');
    }
  }

  private job(id: string): VendorJob {
    const job = this.jobs.get(id);
    if (!job) throw new Error(`the scripted vendor has no job ${id}`);
    return job;
  }
}

function pointOf(part: string): FaultPoint {
  return part === 'events' || part === 'cancel' || part === 'result' ? part : 'status';
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The platform's own multipart parser: a second opinion on the form that the adapter builds. */
async function readForm(request: IncomingMessage, body: Buffer): Promise<Pick<AcceptedJob, 'form' | 'image'>> {
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  const fields = await new Response(new Uint8Array(body), { headers }).formData();
  const form: Record<string, string> = {};
  for (const [name, value] of fields) if (typeof value === 'string') form[name] = value;
  const image = fields.get('image');
  if (!(image instanceof Blob)) return { form, image: undefined };
  return { form, image: { bytes: new Uint8Array(await image.arrayBuffer()), contentType: image.type } };
}
