import type { Exchange } from './answer.ts';
import { answerError, dropConnection, holdConnection } from './answer.ts';
import type { FaultAt } from './fault.ts';
import { pause } from './pause.ts';

type AnswerFault = FaultAt<'status'> | FaultAt<'cancel'> | Exclude<FaultAt<'result'>, { fault: 'drop' }>;

/** Plays a fault that replaces or delays a plain answer. `answer`: the caller still has to give the true one. */
export async function playAnswerFault(
  fault: AnswerFault,
  exchange: Exchange,
  cleared: AbortSignal,
): Promise<'answer' | 'played'> {
  switch (fault.fault) {
    case 'silent':
      holdConnection(exchange, cleared);
      return 'played';
    case 'drop':
      dropConnection(exchange);
      return 'played';
    case 'garbage-2xx':
      answerGarbage(exchange);
      return 'played';
    case 'status':
      answerFaultStatus(exchange, fault);
      return 'played';
    case 'delay':
      await pause(fault.seconds * 1_000, cleared);
      return 'answer';
  }
}

export interface FaultStatus {
  readonly status: number;
  readonly retryAfter?: number | string | undefined;
  readonly error?: string | undefined;
}

export function answerFaultStatus(exchange: Exchange, fault: FaultStatus): void {
  const headers = fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) };
  answerError(exchange, fault.status, fault.error ?? `The studio was told to answer ${fault.status}.`, headers);
}

/** What a proxy in front of a vendor answers on a bad day: 200, and a page. */
export function answerGarbage({ response }: Exchange): void {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end('<html><body><h1>Welcome</h1></body></html>');
}
