import * as z from 'zod';

import type { Exchange } from './answer.ts';
import { answerError, answerJson, readBody } from './answer.ts';
import { faultSchema } from './fault.ts';
import { isoTime } from './job.ts';
import type { StudioParts } from './studio-parts.ts';

const maxFaultBytes = 64 * 1024;
const maxApiKeysBytes = 4 * 1024;

const apiKeysSchema = z.strictObject({ apiKeys: z.array(z.string().min(1)).min(1) });

/** What a vendor's customer never sees: the books, and the levers for making it misbehave. No key: it is local. */
export async function serveControl(studio: StudioParts, exchange: Exchange, pathname: string): Promise<void> {
  switch (`${exchange.request.method} ${pathname}`) {
    case 'GET /control/health':
      return answerJson(exchange, 200, { status: 'ok' });
    case 'GET /control/ledger':
      return answerJson(exchange, 200, presentLedger(studio));
    case 'DELETE /control/ledger':
      studio.ledger.restartCounters();
      return answerJson(exchange, 200, presentLedger(studio));
    case 'GET /control/faults':
      return answerJson(exchange, 200, { faults: studio.faults.list() });
    case 'POST /control/faults':
      return postFault(studio, exchange);
    case 'DELETE /control/faults':
      studio.faults.clear();
      return answerJson(exchange, 200, { faults: [] });
    case 'POST /control/hurry':
      studio.faults.hurry();
      return answerJson(exchange, 200, { faults: studio.faults.list() });
    case 'PUT /control/api-keys':
      return putApiKeys(studio, exchange);
    case 'POST /control/reset':
      await reset(studio);
      return answerJson(exchange, 200, presentLedger(studio));
    default:
      return answerError(exchange, 404, 'There is no such control.');
  }
}

function presentLedger({ ledger }: StudioParts) {
  return {
    accepted: ledger.all().map((job) => ({
      vendorJobId: job.id,
      key: job.key,
      feature: job.order.feature,
      acceptedAt: isoTime(job.acceptedAtMs),
      status: job.status,
      finishedAt: job.finishedAtMs === null ? null : isoTime(job.finishedAtMs),
    })),
    inFlight: ledger.inFlight(),
    ...ledger.counters(),
  };
}

async function postFault(studio: StudioParts, exchange: Exchange): Promise<void> {
  const body = await readBody(exchange, maxFaultBytes);
  if (!body) return answerError(exchange, 413, `A fault is at most ${maxFaultBytes} bytes.`);
  const json = parseJson(body.toString('utf8'));
  if (json === undefined) return answerError(exchange, 400, 'A fault is JSON.');
  const fault = faultSchema.safeParse(json);
  if (!fault.success) return answerError(exchange, 400, z.prettifyError(fault.error));
  studio.faults.post(fault.data);
  answerJson(exchange, 201, { faults: studio.faults.list() });
}

/** A customer's rotation: the new key beside the old one, then alone. In memory only, as faults are. */
async function putApiKeys(studio: StudioParts, exchange: Exchange): Promise<void> {
  const body = await readBody(exchange, maxApiKeysBytes);
  const wanted = apiKeysSchema.safeParse(body && parseJson(body.toString('utf8')));
  if (!wanted.success) return answerError(exchange, 400, z.prettifyError(wanted.error));
  studio.customer.apiKeys = wanted.data.apiKeys;
  answerJson(exchange, 200, { apiKeys: wanted.data.apiKeys.length });
}

/** Back to a studio that never had a customer. */
async function reset(studio: StudioParts): Promise<void> {
  studio.faults.clear();
  await studio.runner.halt();
  await studio.webhooks.halt();
  const jobs = studio.ledger.all();
  studio.ledger.clear();
  for (const job of jobs) await studio.pictures.drop(job.id);
  studio.webhooks.resume();
  studio.runner.resume();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
