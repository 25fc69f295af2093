import { randomUUID } from 'node:crypto';

import type { Exchange } from './answer.ts';
import { answerError, answerJson, dropConnection, holdConnection, readBody } from './answer.ts';
import { answerFaultStatus, answerGarbage } from './answer-fault.ts';
import type { FaultAt } from './fault.ts';
import { presentJob } from './job.ts';
import type { Acceptance } from './ledger.ts';
import { pause } from './pause.ts';
import type { StudioParts } from './studio-parts.ts';
import type { Submission } from './submission.ts';
import { checkSubmission, readForm } from './submission.ts';

const maxBodyBytes = 20 * 1024 * 1024;
const visibleAscii = /^[\x21-\x7e]{1,255}$/;

/** POST /api/v1/jobs, and under /blind, where `dedupes` is false and every post is a new job. */
export async function submitJob(studio: StudioParts, exchange: Exchange, dedupes: boolean): Promise<void> {
  const key = exchange.request.headers['idempotency-key'] ?? null;
  if (Array.isArray(key) || (key !== null && !visibleAscii.test(key))) {
    return answerError(exchange, 400, 'Idempotency-Key must be 1 to 255 visible ASCII characters.');
  }
  const body = await readBody(exchange, maxBodyBytes);
  if (!body) {
    return answerError(exchange, 413, `The body is over ${maxBodyBytes} bytes.`);
  }
  const form = await readForm(exchange.request.headers['content-type'], body);
  const fault = studio.faults.take('submit', form?.feature ?? null);
  if (fault && playBeforeAccept(fault, exchange, studio.faults.cleared) === 'played') return;
  if (!form) return answerError(exchange, 400, 'The body must be multipart/form-data.');
  const check = await checkSubmission(form);
  if (check.outcome === 'refused') return answerError(exchange, check.status, check.reason);
  const acceptance = await accept(studio, check.submission, key, dedupes);
  if (fault && (await playAfterAccept(fault, exchange, studio.faults.cleared)) === 'played') return;
  answerAcceptance(studio, exchange, acceptance);
}

/** The picture is durable before the job is, so that no accepted job lacks its picture after a crash. */
async function accept(
  studio: StudioParts,
  { order, image, callbackUrl }: Submission,
  key: string | null,
  dedupes: boolean,
): Promise<Acceptance> {
  const original = dedupes && key !== null ? studio.ledger.byKey(key) : undefined;
  if (original) return { outcome: 'replayed', job: original };
  const id = `stu_${randomUUID().replaceAll('-', '')}`;
  await studio.pictures.saveInput(id, image);
  const acceptance = studio.ledger.accept({ id, key, dedupes, order, callbackUrl, acceptedAtMs: Date.now() });
  if (acceptance.outcome === 'accepted') studio.runner.enqueue(id);
  // Another post of this key came first while the picture was written.
  else await studio.pictures.drop(id);
  return acceptance;
}

function answerAcceptance(studio: StudioParts, exchange: Exchange, { outcome, job }: Acceptance): void {
  const shown = presentJob(studio.runner.live(studio.ledger.existing(job.id)), studio.baseUrl);
  if (outcome === 'accepted') answerJson(exchange, 202, shown);
  else answerJson(exchange, 200, shown, { 'idempotent-replayed': 'true' });
}

function playBeforeAccept(fault: FaultAt<'submit'>, exchange: Exchange, cleared: AbortSignal): 'go-on' | 'played' {
  switch (fault.fault) {
    case 'drop-before-accept':
      dropConnection(exchange);
      return 'played';
    case 'silent':
      holdConnection(exchange, cleared);
      return 'played';
    case 'status':
      if (fault.accept === true) return 'go-on';
      answerFaultStatus(exchange, fault);
      return 'played';
    case 'drop-after-accept':
    case 'garbage-2xx':
    case 'no-id-2xx':
    case 'silent-after-accept':
    case 'delay':
      return 'go-on';
  }
}

async function playAfterAccept(
  fault: FaultAt<'submit'>,
  exchange: Exchange,
  cleared: AbortSignal,
): Promise<'answer' | 'played'> {
  switch (fault.fault) {
    case 'drop-after-accept':
      dropConnection(exchange);
      return 'played';
    case 'garbage-2xx':
      answerGarbage(exchange);
      return 'played';
    case 'no-id-2xx':
      answerJson(exchange, 202, { status: 'queued' });
      return 'played';
    case 'silent-after-accept':
      holdConnection(exchange, cleared);
      return 'played';
    case 'status':
      answerFaultStatus(exchange, fault);
      return 'played';
    case 'delay':
      await pause(fault.seconds * 1_000, cleared);
      return 'answer';
    case 'drop-before-accept':
    case 'silent':
      return 'answer';
  }
}
