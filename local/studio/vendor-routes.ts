import { createHash, timingSafeEqual } from 'node:crypto';

import type { Exchange } from './answer.ts';
import { answerError, answerJson, dropConnection } from './answer.ts';
import { playAnswerFault } from './answer-fault.ts';
import { streamEvents } from './event-stream.ts';
import type { StudioJob } from './job.ts';
import { presentJob } from './job.ts';
import type { Customer, StudioParts } from './studio-parts.ts';
import { submitJob } from './submit-job.ts';

const path = /^(?<blind>\/blind)?\/api\/v1\/jobs(?:\/(?<jobId>[\w-]+)(?:\/(?<part>events|cancel|result))?)?$/;

/** The API that a vendor would sell. `/blind` serves it once more, for a vendor that knows no idempotency. */
export async function serveVendor(studio: StudioParts, exchange: Exchange, pathname: string): Promise<void> {
  const { request } = exchange;
  const groups = path.exec(pathname)?.groups;
  if (!groups) return answerError(exchange, 404, 'There is no such route.');
  const dedupes = groups['blind'] === undefined;
  const { jobId, part } = groups;
  const submits = jobId === undefined && request.method === 'POST';
  if (submits) studio.ledger.countPost();
  if (!isCustomer(request.headers['x-api-key'], studio.customer)) {
    return answerError(exchange, 401, 'The X-API-Key is missing or wrong.');
  }
  if (submits) return submitJob(studio, exchange, dedupes);
  if (jobId === undefined) return answerError(exchange, 405, 'Jobs are made with POST.', { allow: 'POST' });
  const job = studio.ledger.byId(jobId);
  if (!job || job.dedupes !== dedupes) return answerError(exchange, 404, 'There is no such job.');
  const method = part === 'cancel' ? 'POST' : 'GET';
  if (request.method !== method) return answerError(exchange, 405, `This route takes ${method}.`, { allow: method });
  return serveJob(studio, exchange, job, part);
}

async function serveJob(
  studio: StudioParts,
  exchange: Exchange,
  job: StudioJob,
  part: string | undefined,
): Promise<void> {
  switch (part) {
    case 'events':
      return streamEvents(studio, exchange, job);
    case 'cancel':
      return cancelJob(studio, exchange, job);
    case 'result':
      return readResult(studio, exchange, job);
    default:
      return readJob(studio, exchange, job);
  }
}

async function readJob(studio: StudioParts, exchange: Exchange, job: StudioJob): Promise<void> {
  const fault = studio.faults.take('status', job.order.feature);
  if (fault && (await playAnswerFault(fault, exchange, studio.faults.cleared)) === 'played') return;
  const now = studio.ledger.byId(job.id) ?? job;
  answerJson(exchange, 200, presentJob(studio.runner.live(now), studio.baseUrl));
}

/** 202, whatever the job's state: a request is not an end. */
async function cancelJob(studio: StudioParts, exchange: Exchange, job: StudioJob): Promise<void> {
  const fault = studio.faults.take('cancel', job.order.feature);
  if (fault && (await playAnswerFault(fault, exchange, studio.faults.cleared)) === 'played') return;
  answerJson(exchange, 202, presentJob(studio.runner.cancel(job), studio.baseUrl));
}

async function readResult(studio: StudioParts, exchange: Exchange, job: StudioJob): Promise<void> {
  const fault = studio.faults.take('result', job.order.feature);
  if (fault && fault.fault !== 'drop') {
    if ((await playAnswerFault(fault, exchange, studio.faults.cleared)) === 'played') return;
  }
  if (!job.result) return answerError(exchange, 404, 'The job has no result.');
  const picture = await studio.pictures.readResult(job.id);
  const { response } = exchange;
  response.writeHead(200, { 'content-type': job.result.contentType, 'content-length': picture.length });
  if (fault?.fault !== 'drop') response.end(picture);
  else response.write(picture.subarray(0, picture.length / 2), () => dropConnection(exchange));
}

/** Hashed first, so that the comparison takes as long for a key of any length. */
function isCustomer(given: string | string[] | undefined, { apiKeys }: Customer): boolean {
  if (typeof given !== 'string') return false;
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return apiKeys.some((apiKey) => timingSafeEqual(hash(given), hash(apiKey)));
}
