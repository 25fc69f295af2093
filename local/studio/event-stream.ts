import type { Exchange } from './answer.ts';
import { dropConnection, holdConnection } from './answer.ts';
import { answerFaultStatus } from './answer-fault.ts';
import type { FaultAt } from './fault.ts';
import type { JobEvent } from './job-feed.ts';
import type { StudioJob } from './job.ts';
import { isFinished, presentJob } from './job.ts';
import { pause } from './pause.ts';
import type { StudioParts } from './studio-parts.ts';

const keepAliveMs = 15_000;
/** A reader that is this far behind is cut off; it comes back to a fresh snapshot. */
const maxUnreadBytes = 1024 * 1024;

/** GET /api/v1/jobs/{id}/events: the job as it stands, then each change, until it is finished. */
export function streamEvents(studio: StudioParts, exchange: Exchange, job: StudioJob): void {
  const fault = studio.faults.take('events', job.order.feature);
  switch (fault?.fault) {
    case 'silent':
      return holdConnection(exchange, studio.faults.cleared);
    case 'status':
      return answerFaultStatus(exchange, fault);
    case undefined:
    case 'drop':
    case 'repeat':
    case 'reorder':
    case 'delay':
      return stream(studio, exchange, job, fault);
  }
}

type StreamFault = Exclude<FaultAt<'events'>, { fault: 'silent' | 'status' }>;

function stream(studio: StudioParts, exchange: Exchange, job: StudioJob, fault: StreamFault | undefined): void {
  const { response } = exchange;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.flushHeaders();
  const send = sender(studio, exchange, fault);
  const keepAlive = setInterval(() => response.write(': still here\n\n'), keepAliveMs);
  const stopListening = studio.feed.listen(job.id, send);
  response.once('close', () => {
    clearInterval(keepAlive);
    stopListening();
  });
  // Listening began in this same turn, so nothing falls between the snapshot and the first change.
  send({ kind: 'status', job: studio.runner.live(job) });
}

type Send = (event: JobEvent) => void;

function sender(studio: StudioParts, exchange: Exchange, fault: StreamFault | undefined): Send {
  const send = (events: readonly JobEvent[]) => writeEvents(studio, exchange, events);
  switch (fault?.fault) {
    case undefined:
      return (event) => send([event]);
    case 'repeat':
      return (event) => send([event, event]);
    case 'reorder':
      return swapNeighbours(send);
    case 'delay':
      return (event) => void pause(fault.seconds * 1_000, studio.faults.cleared).then(() => send([event]));
    case 'drop':
      return dropAfterFirst(exchange, send);
  }
}

/** Ends the stream after the events of a job's end. */
function writeEvents(studio: StudioParts, exchange: Exchange, events: readonly JobEvent[]): void {
  const { response } = exchange;
  if (!response.writable) return;
  if (response.writableLength > maxUnreadBytes) return dropConnection(exchange);
  for (const { kind, job } of events) {
    response.write(`event: ${kind}\ndata: ${JSON.stringify(presentJob(job, studio.baseUrl))}\n\n`);
  }
  if (events.some(({ job }) => isFinished(job.status))) response.end();
}

/** The second event cuts the connection, so that the first has surely left. */
function dropAfterFirst(exchange: Exchange, send: (events: readonly JobEvent[]) => void): Send {
  let sent = false;
  return (event) => {
    if (sent) return dropConnection(exchange);
    sent = true;
    send([event]);
  };
}

/** Holds each first of two back until the second is out. The end is never held, and takes a held one along. */
function swapNeighbours(send: (events: readonly JobEvent[]) => void): Send {
  let held: JobEvent | undefined;
  return (event) => {
    if (!held && !isFinished(event.job.status)) {
      held = event;
      return;
    }
    send(held ? [event, held] : [event]);
    held = undefined;
  };
}
