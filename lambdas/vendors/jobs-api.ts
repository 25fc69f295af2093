import type { Clock, Waiting } from '../domain/ports.ts';
import type {
  CancelAsked,
  EventRead,
  FetchedResult,
  Found,
  Identified,
  JsonValue,
  RawEvent,
  Submission,
  SubmitOutcome,
  Vendor,
  VendorResult,
  VendorTraits,
  VendorWord,
} from '../domain/vendor.ts';
import type { Secret, VendorSecret } from '../runtime/secrets.ts';
import { readJobEvent } from './jobs-api-event.ts';
import { callOnce, openOnce, type Answered, type Call, type CallContext, type CallOutcome } from './call.ts';
import { classifySubmit, type SubmitRules } from './classify.ts';
import type { VendorConfig } from './config.ts';
import { describe } from './connection.ts';
import { eventData } from './event-stream.ts';
import { fetchPicture } from './fetch-result.ts';
import { readId, readJob, readReason, textOf, unreachable, wordOf, type JobAnswer } from './jobs-api-answer.ts';
import { readJobsApiOptions, type JobsApiOptions } from './jobs-api-options.ts';
import { multipart, type Form, type Part } from './multipart.ts';
import { readable } from './readable.ts';
import { retryAfterMs } from './retry-after.ts';
import { watchJob, type WordStream } from './watch.ts';

export interface VendorWorld {
  readonly secret: Secret<VendorSecret>;
  readonly clock: Clock;
  readonly waiting: Waiting;
}

// An answer about one job; the largest is an error page.
const maxAnswerBytes = 1_000_000;

/** Refused asks come often while a key is wrong, and the next one is soon enough. */
const askAgainMs = 1_000;

/**
 * A vendor that speaks the keyed jobs API: `POST /api/v1/jobs` under an Idempotency-Key, then the job by its id, its
 * event stream, and its result by URL. The embedded studio speaks it. What it does with a repeated key is configured.
 */
export class JobsApiVendor implements Vendor {
  readonly name: string;
  readonly version = 1;
  readonly traits: VendorTraits;
  readonly find: Vendor['find'];
  private readonly config: VendorConfig;
  private readonly options: JobsApiOptions;
  private readonly world: VendorWorld;
  private readonly context: CallContext;

  constructor(config: VendorConfig, world: VendorWorld) {
    this.name = config.name;
    this.traits = config.traits;
    this.config = config;
    this.options = readJobsApiOptions(config.name, config.options, config.traits.dedupe);
    this.world = world;
    this.context = { network: config.network, clock: world.clock };
    this.find = this.finder();
  }

  async submit(submission: Submission): Promise<SubmitOutcome> {
    const key = await this.keyOr((message) => ({ kind: 'not-sent', cause: 'secret_unavailable', message }) as const);
    if (typeof key !== 'string') return key;
    const form = this.formOf(submission);
    const call: Call = {
      method: 'POST',
      url: this.url('/api/v1/jobs'),
      headers: { ...keyHeaders(key), 'idempotency-key': submission.vendorKey, 'content-type': form.contentType },
      body: form.body,
      sendBy: submission.sendBy,
      timeoutMs: this.traits.sendTimeoutMs,
      maxBytes: maxAnswerBytes,
      signal: submission.signal,
    };
    return classifySubmit(await callOnce(call, this.context), this.rules(key), this.world.clock.now());
  }

  /** At once, however new the remembered one is: a worker that has just started must not close the lane for a rotation. */
  async refreshSecret(): Promise<boolean> {
    return await this.readKeyAgain(0);
  }

  private async readKeyAgain(withinMs: number): Promise<boolean> {
    const before = await this.keyOr(() => undefined);
    try {
      return (await this.world.secret.refresh(withinMs)).apiKey !== before;
    } catch {
      // Nothing new is known, so the vendor's refusal of the old key stands.
      return false;
    }
  }

  async ask(vendorJobId: string, signal: AbortSignal): Promise<VendorWord> {
    const answer = await this.read(vendorJobId, signal);
    return 'id' in answer ? wordOf(answer) : answer;
  }

  async identify(vendorJobId: string, signal: AbortSignal): Promise<Identified> {
    const answer = await this.read(vendorJobId, signal);
    return 'id' in answer
      ? { word: wordOf(answer), vendorKey: answer.key ?? undefined }
      : { word: answer, vendorKey: undefined };
  }

  private async read(vendorJobId: string, signal: AbortSignal): Promise<JobAnswer | VendorWord> {
    const outcome = await this.request('GET', this.jobUrl(vendorJobId), signal);
    if (outcome.kind !== 'answered') return unreachable(outcome.detail);
    const { status } = outcome;
    if (status === 404 || status === 410) return { kind: 'gone' };
    if (status !== 200) return unreachable(`the vendor answered ${status}`, this.retryAfter(outcome));
    const job = readJob(textOf(outcome));
    if (!job) return unreachable('an answer that can not be read');
    return job.id === vendorJobId ? job : unreachable('an answer about another job');
  }

  watch(vendorJobId: string, signal: AbortSignal): AsyncIterable<VendorWord> {
    const watching = {
      openStream: (until: AbortSignal) => this.openStream(vendorJobId, until),
      ask: (until: AbortSignal) => this.ask(vendorJobId, until),
      pollMs: this.config.pollMs,
      idleMs: this.options.idleMs,
      waiting: this.world.waiting,
    };
    return watchJob(watching, signal);
  }

  async cancel(vendorJobId: string, signal: AbortSignal): Promise<CancelAsked> {
    if (!this.options.cancel) return 'unsupported';
    const outcome = await this.request('POST', this.jobUrl(vendorJobId, '/cancel'), signal);
    if (outcome.kind !== 'answered') return 'unreachable';
    const { status } = outcome;
    if (status === 405 || status === 501) return 'unsupported';
    // Unknown, finished already, not now: the request was heard, and only asking tells what became of the job.
    const wasHeard = (status >= 200 && status < 300) || [404, 409, 410, 422].includes(status);
    return wasHeard ? 'asked' : 'unreachable';
  }

  async fetchResult(result: VendorResult, signal: AbortSignal): Promise<FetchedResult> {
    const fetchWith = (key: string) => {
      const { resultTimeoutMs: timeoutMs, maxResultBytes: maxBytes } = this.options;
      return fetchPicture(result, { timeoutMs, maxBytes, keyHeaders: keyHeaders(key), signal }, this.context);
    };
    const key = await this.keyOr((message) => ({ kind: 'unreachable', message }) as const);
    if (typeof key !== 'string') return key;
    const fetched = await fetchWith(key);
    if (fetched.kind !== 'key-refused') return fetched;
    const newKey = await this.newKey(key);
    const again = newKey === undefined ? fetched : await fetchWith(newKey);
    return again.kind === 'key-refused' ? { kind: 'unreachable', message: again.message } : again;
  }

  async readEvent(event: RawEvent): Promise<EventRead> {
    const read = readJobEvent(event, webhookSecretsOf(await this.world.secret.read()));
    // The vendor may sign with a secret that was rotated since we read ours.
    const isRotated = read.kind === 'refused' && read.reason === 'bad_signature' && (await this.hasNewWebhookSecret());
    return isRotated ? readJobEvent(event, webhookSecretsOf(await this.world.secret.read())) : read;
  }

  private async hasNewWebhookSecret(): Promise<boolean> {
    const before = (await this.world.secret.read()).webhookSecret;
    return (await this.world.secret.refresh()).webhookSecret !== before;
  }

  private finder(): Vendor['find'] {
    const { lookupPath } = this.options;
    const { dedupe } = this.traits;
    if (lookupPath === undefined || dedupe === 'none' || dedupe === 'inflight') return undefined;
    return async (vendorKey, signal): Promise<Found> => {
      const url = this.url(lookupPath.replaceAll('{key}', encodeURIComponent(vendorKey)));
      const outcome = await this.request('GET', url, signal);
      if (outcome.kind !== 'answered') return { kind: 'unreachable', message: readable(outcome.detail) };
      if (outcome.status === 404) return { kind: 'absent' };
      const vendorJobId = outcome.status === 200 ? readId(textOf(outcome)) : undefined;
      if (vendorJobId !== undefined) return { kind: 'found', vendorJobId };
      return { kind: 'unreachable', message: `the vendor answered ${outcome.status}` };
    };
  }

  private async openStream(vendorJobId: string, signal: AbortSignal): Promise<WordStream | undefined> {
    if (!this.options.events) return undefined;
    const key = await this.keyOr(() => undefined);
    if (key === undefined) return undefined;
    const call = this.call('GET', this.jobUrl(vendorJobId, '/events'), key, signal);
    const headers = { ...call.headers, accept: 'text/event-stream' };
    const answer = await openOnce({ ...call, headers }, this.context);
    if (answer.kind !== 'open') return undefined;
    const isStream = answer.status === 200 && /^text\/event-stream\b/i.test(answer.headers['content-type'] ?? '');
    if (isStream) return { words: wordsOf(answer.chunks, vendorJobId), close: answer.close };
    answer.close();
    return undefined;
  }

  /** A free request. A refused key is read again once: a rotation must not hide running jobs from us. */
  private async request(method: 'GET' | 'POST', url: URL, signal: AbortSignal): Promise<CallOutcome> {
    const key = await this.keyOr((detail) => ({ kind: 'not-sent', cause: 'aborted', detail }) as const);
    if (typeof key !== 'string') return key;
    const outcome = await callOnce(this.call(method, url, key, signal), this.context);
    const isKeyRefused = outcome.kind === 'answered' && (outcome.status === 401 || outcome.status === 403);
    const newKey = isKeyRefused ? await this.newKey(key) : undefined;
    return newKey === undefined ? outcome : callOnce(this.call(method, url, newKey, signal), this.context);
  }

  private call(method: 'GET' | 'POST', url: URL, key: string, signal: AbortSignal): Call {
    const timeoutMs = this.options.askTimeoutMs;
    return { method, url, headers: keyHeaders(key), timeoutMs, maxBytes: maxAnswerBytes, signal };
  }

  private async keyOr<Otherwise>(otherwise: (message: string) => Otherwise): Promise<string | Otherwise> {
    try {
      return (await this.world.secret.read()).apiKey;
    } catch (error) {
      return otherwise(readable(describe(error)));
    }
  }

  /** The key as it is now, iff it is not the one that was refused. */
  private async newKey(refusedKey: string): Promise<string | undefined> {
    await this.readKeyAgain(askAgainMs);
    const key = await this.keyOr(() => undefined);
    return key === refusedKey ? undefined : key;
  }

  private formOf({ picture, feature, parameters, callbackUrl }: Submission): Form {
    const parts: Part[] = [
      { name: 'feature', content: feature },
      { name: 'params', contentType: 'application/json', content: JSON.stringify(sorted(parameters)) },
    ];
    if (this.config.webhooks && callbackUrl !== undefined) parts.push({ name: 'callbackUrl', content: callbackUrl });
    if (picture) {
      const fileName = `image.${picture.contentType.split('/')[1] ?? 'bin'}`;
      parts.push({ name: 'image', fileName, contentType: picture.contentType, content: picture.bytes });
    }
    return multipart(parts);
  }

  private rules(key: string): SubmitRules {
    const { notTaken, keyReusedCodes, refusedCodes } = this.options;
    return { notTaken, keyReusedCodes, refusedCodes, readTaken, readReason, secrets: [key] };
  }

  private retryAfter(answer: Answered): number | undefined {
    return retryAfterMs(answer.headers['retry-after'], this.world.clock.now());
  }

  private jobUrl(vendorJobId: string, path = ''): URL {
    return this.url(`/api/v1/jobs/${encodeURIComponent(vendorJobId)}${path}`);
  }

  /** The base URL may have a path of its own (`https://host/v2`); what we ask for goes below it. */
  private url(path: string): URL {
    return new URL(this.config.network.baseUrl.href.replace(/\/$/, '') + path);
  }
}

/** The answer to a replayed key may be a finished job: then there is nothing left to wait for. */
function readTaken(answer: Answered): ReturnType<SubmitRules['readTaken']> {
  const text = textOf(answer);
  const vendorJobId = readId(text);
  if (vendorJobId === undefined) return undefined;
  const job = readJob(text);
  const word = job && wordOf(job);
  return word?.kind === 'succeeded'
    ? { kind: 'finished', vendorJobId, result: word.result }
    : { kind: 'accepted', vendorJobId };
}

async function* wordsOf(chunks: AsyncIterable<Uint8Array>, vendorJobId: string): AsyncGenerator<VendorWord> {
  for await (const data of eventData(chunks)) {
    const job = readJob(data);
    if (job?.id === vendorJobId) yield wordOf(job);
  }
}

/** One, or several separated by spaces while they are being rotated. */
function webhookSecretsOf({ webhookSecret }: VendorSecret): readonly string[] {
  return webhookSecret?.split(' ').filter((secret) => secret !== '') ?? [];
}

function keyHeaders(key: string): Record<string, string> {
  return { 'x-api-key': key };
}

/** With its keys in order: a retake must not differ from the first send because a store gave them back in another. */
function sorted(value: JsonValue): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  if (isList(value)) return value.map(sorted);
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
