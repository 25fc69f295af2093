/**
 * One JSON line per event, from a closed catalogue. A field that the catalogue does not list is not written, whatever a
 * caller passes: so no secret, token, prompt, parameter or picture can reach a log by accident.
 */

import type { Clock } from '../domain/ports.ts';
import { currentRequestId } from './invocation.ts';

type Level = 'info' | 'warn' | 'error';

/** Every field that any event may carry. Adding one is a decision: it must be neither secret nor what a user made. */
interface LogFields {
  attempt: number;
  cap: number;
  checked: number;
  code: string;
  count: number;
  durationMs: number;
  error: unknown;
  eventType: string;
  feature: string;
  from: string;
  generation: number;
  keyId: string;
  lane: string;
  method: string;
  outcome: string;
  reason: string;
  route: string;
  state: string;
  status: number;
  tenant: string;
  to: string;
  vendor: string;
  vendorJobId: string;
  version: number;
}

type Field = keyof LogFields;

const event = <Fields extends Field>(level: Level, ...fields: readonly Fields[]) => ({ level, fields });

export const LOG_EVENTS = {
  request_answered: event('info', 'method', 'route', 'status', 'code', 'durationMs'),
  request_failed: event('error', 'method', 'route', 'error'),
  key_use_not_noted: event('warn', 'keyId', 'error'),
  issuer_unreachable: event('warn', 'error'),

  job_submitted: event('info', 'feature', 'lane', 'vendor'),
  job_replayed: event('info', 'state'),
  job_moved: event('info', 'from', 'to', 'attempt', 'generation', 'version', 'reason', 'tenant'),
  job_erased: event('info', 'state'),
  cancel_requested: event('info', 'state'),
  leftovers_not_deleted: event('warn', 'error'),

  lane_not_rung: event('warn', 'lane', 'error'),
  lane_tripped: event('error', 'lane', 'vendor', 'reason'),
  lane_changed: event('info', 'lane', 'cap', 'state', 'reason'),
  hold_taken: event('info', 'lane', 'attempt'),
  hold_swept: event('warn', 'lane', 'reason'),
  hold_missing: event('error', 'lane', 'state'),

  vendor_called: event('info', 'vendor', 'generation', 'outcome', 'status', 'durationMs'),
  vendor_outcome_unknown: event('error', 'vendor', 'generation', 'reason', 'status'),
  vendor_account_refused: event('error', 'vendor', 'status', 'lane'),
  vendor_job_conflict: event('error', 'vendor', 'vendorJobId', 'generation'),
  vendor_runs_after_release: event('error', 'vendor', 'vendorJobId', 'generation'),
  vendor_unreachable: event('warn', 'vendor', 'reason', 'error'),
  vendor_event_received: event('info', 'vendor', 'generation', 'outcome'),
  vendor_event_refused: event('warn', 'vendor', 'reason'),

  socket_opened: event('info'),
  socket_refused: event('info', 'reason'),
  socket_closed: event('info', 'reason'),
  follower_gone: event('info', 'status'),
  follower_not_reached: event('warn', 'error'),
  job_announced: event('info', 'eventType', 'version'),
  job_not_announced: event('error', 'eventType', 'error'),

  ring_failed: event('error', 'lane', 'error'),
  reconcile_finished: event('info', 'checked', 'count', 'durationMs'),
  reconcile_step_failed: event('error', 'error'),
  operator_acted: event('warn', 'reason', 'keyId', 'generation', 'outcome'),
  settling_failed: event('error', 'error'),
} as const satisfies Record<string, { level: Level; fields: readonly Field[] }>;

export type LogEvent = keyof typeof LOG_EVENTS;
export type LogFieldsOf<Event extends LogEvent> = {
  readonly [F in (typeof LOG_EVENTS)[Event]['fields'][number]]?: LogFields[F] | undefined;
};

/** What stands on every line of one invocation. */
export interface LogContext {
  readonly requestId?: string | undefined;
  readonly jobId?: string | undefined;
}

export interface Log {
  write<Event extends LogEvent>(event: Event, fields: LogFieldsOf<Event>): void;
  /** The same log with more context on each line. */
  about(context: LogContext): Log;
}

const LONGEST_TEXT = 500;

function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  const cause = error.cause instanceof Error ? { cause: describeError(error.cause) } : {};
  return { name: error.name, message: shorten(error.message), stack: error.stack?.slice(0, 2000), ...cause };
}

const shorten = (text: string): string => (text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text);

function printable(field: string, value: unknown): unknown {
  if (field === 'error') return describeError(value);
  return typeof value === 'string' ? shorten(value) : value;
}

export interface LogSettings {
  readonly environment: string;
  /** The verb of the function, for example `submit-job`. */
  readonly function: string;
  readonly clock: Clock;
  /** Takes one line without its newline; in a Lambda that is standard output. */
  readonly writeLine?: (line: string) => void;
}

export function createLog(settings: LogSettings, context: LogContext = {}): Log {
  const { environment, clock, writeLine = (line: string) => console.log(line) } = settings;
  return {
    write: (event, fields) => {
      const { level, fields: allowed } = LOG_EVENTS[event];
      const given: Readonly<Record<string, unknown>> = fields;
      const listed = (allowed as readonly Field[])
        .filter((field) => given[field] !== undefined)
        .map((field) => [field, printable(field, given[field])]);
      const at = new Date(clock.now()).toISOString();
      const about = { requestId: currentRequestId(), ...context };
      const line = { at, level, event, environment, function: settings.function, ...about };
      writeLine(JSON.stringify({ ...line, ...Object.fromEntries(listed) }));
    },
    about: (more) => createLog(settings, { ...context, ...more }),
  };
}
