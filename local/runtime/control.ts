import type { IncomingMessage, ServerResponse } from 'node:http';
import * as z from 'zod';
import type { DynamoStore } from '../stores/dynamo.ts';
import type { EventStore } from '../stores/events.ts';
import type { QueueStore } from '../stores/sqs.ts';
import type { CallLedger } from './calls.ts';
import type { Functions } from './functions.ts';
import { readBody, sendJson } from './http-body.ts';

export interface ControlOptions {
  readonly calls: CallLedger;
  readonly functions: Functions;
  readonly dynamo: DynamoStore;
  readonly queues: QueueStore;
  readonly events: EventStore;
}

const prefix = '/_local/';
const bodyLimitBytes = 6 * 1024 * 1024;

export const isControl = (target: string) => target.startsWith(prefix);

/** What AWS shows in its console, and tests ask for: calls, queue depths, published events; and a way to invoke and to kill. */
export async function handleControl(
  request: IncomingMessage,
  response: ServerResponse,
  options: ControlOptions,
): Promise<void> {
  if (!isLoopback(request.socket.remoteAddress)) return sendJson(response, 403, { message: 'From this machine only.' });
  const url = new URL(request.url ?? '', 'http://local');
  const [subject = '', name] = url.pathname.slice(prefix.length).split('/');
  switch (`${request.method} ${subject}`) {
    case 'GET calls':
      await options.dynamo.flushCalls();
      return sendJson(response, 200, options.calls.snapshot());
    case 'DELETE calls':
      await options.dynamo.flushCalls();
      options.calls.reset();
      return sendJson(response, 200, {});
    case 'GET queues':
      return sendJson(response, 200, options.queues.depths());
    case 'GET events':
      return sendJson(response, 200, options.events.after(Number(url.searchParams.get('after') ?? 0)));
    case 'GET functions':
      return sendJson(response, 200, describeFunctions(options.functions));
    case 'POST invoke':
      return await invoke(request, response, options.functions, name ?? '');
    case 'POST kill':
      return await kill(request, response, options.functions);
    default:
      return sendJson(response, 404, { message: 'Not Found' });
  }
}

function describeFunctions(functions: Functions) {
  return functions.all().map(({ spec, inFlight }) => ({
    name: spec.name,
    timeoutMs: spec.timeoutMs,
    memoryMegabytes: spec.memoryMegabytes,
    reservedConcurrency: spec.reservedConcurrency ?? null,
    inFlight,
  }));
}

async function invoke(request: IncomingMessage, response: ServerResponse, functions: Functions, name: string) {
  const target = functions.named(name);
  if (target === undefined) return sendJson(response, 404, { message: `No function ${name}` });
  const outcome = await target.invoke((await readJson(request)) ?? {});
  const status = { answered: 200, failed: 502, throttled: 429, 'too-large': 413 }[outcome.kind];
  return sendJson(response, status, outcome);
}

async function kill(request: IncomingMessage, response: ServerResponse, functions: Functions) {
  const wanted = z
    .object({ function: z.string(), most: z.int().positive().optional() })
    .safeParse(await readJson(request));
  const target = wanted.success ? functions.named(wanted.data.function) : undefined;
  if (target === undefined) return sendJson(response, 404, { message: 'No such function' });
  return sendJson(response, 200, { killed: await target.killBusy(wanted.data?.most) });
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await readBody(request, bodyLimitBytes);
  return body === undefined || body.length === 0 ? undefined : JSON.parse(body.toString('utf8'));
}

const isLoopback = (address: string | undefined) => /^(::ffff:)?127\.|^::1$/.test(address ?? '');
