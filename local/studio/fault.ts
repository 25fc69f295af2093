import * as z from 'zod';

import { featureSchema } from './order.ts';

const scope = {
  /** Only jobs of this feature; any, where absent. */
  feature: featureSchema.optional(),
  /** How often it strikes; until cleared, where absent. */
  times: z.int().positive().optional(),
};
const seconds = z.number().nonnegative().max(3_600);
const statusAnswer = {
  status: z.int().min(300).max(599),
  /** Seconds, or an HTTP date. */
  retryAfter: z.union([z.number().nonnegative(), z.string().min(1)]).optional(),
  /** The reason in the body. */
  error: z.string().min(1).optional(),
};

const plain = <Point extends string, Name extends string>(point: Point, name: Name) =>
  z.strictObject({ point: z.literal(point), fault: z.literal(name), ...scope });
const status = <Point extends string>(point: Point) =>
  z.strictObject({ point: z.literal(point), fault: z.literal('status'), ...statusAnswer, ...scope });
const delay = <Point extends string>(point: Point) =>
  z.strictObject({ point: z.literal(point), fault: z.literal('delay'), seconds, ...scope });

const submitFault = z.discriminatedUnion('fault', [
  plain('submit', 'drop-before-accept'),
  plain('submit', 'drop-after-accept'),
  plain('submit', 'garbage-2xx'),
  plain('submit', 'no-id-2xx'),
  plain('submit', 'silent'),
  plain('submit', 'silent-after-accept'),
  z.strictObject({
    point: z.literal('submit'),
    fault: z.literal('status'),
    /** True: the job is accepted although the answer denies it. */
    accept: z.boolean().optional(),
    ...statusAnswer,
    ...scope,
  }),
  delay('submit'),
]);
const statusFault = z.discriminatedUnion('fault', [
  plain('status', 'silent'),
  plain('status', 'drop'),
  plain('status', 'garbage-2xx'),
  status('status'),
  delay('status'),
]);
const cancelFault = z.discriminatedUnion('fault', [
  plain('cancel', 'silent'),
  plain('cancel', 'drop'),
  status('cancel'),
  delay('cancel'),
]);
const resultFault = z.discriminatedUnion('fault', [
  plain('result', 'silent'),
  plain('result', 'drop'),
  status('result'),
  delay('result'),
]);
const eventsFault = z.discriminatedUnion('fault', [
  plain('events', 'silent'),
  plain('events', 'drop'),
  plain('events', 'repeat'),
  plain('events', 'reorder'),
  status('events'),
  delay('events'),
]);
const webhookFault = z.discriminatedUnion('fault', [
  plain('webhook', 'silent'),
  plain('webhook', 'drop'),
  plain('webhook', 'repeat'),
  plain('webhook', 'reorder'),
  status('webhook'),
  delay('webhook'),
]);
const runFault = z.discriminatedUnion('fault', [
  z.strictObject({ point: z.literal('run'), fault: z.literal('slow'), seconds, ...scope }),
  z.strictObject({
    point: z.literal('run'),
    fault: z.literal('fail'),
    seconds: seconds.default(0),
    error: z.string().min(1).default('The studio could not make this picture.'),
    ...scope,
  }),
  z.strictObject({
    point: z.literal('run'),
    fault: z.literal('ticks'),
    perSecond: z.number().positive().max(1_000),
    seconds,
    ...scope,
  }),
]);

export const faultSchema = z.discriminatedUnion('point', [
  submitFault,
  statusFault,
  cancelFault,
  resultFault,
  eventsFault,
  webhookFault,
  runFault,
]);

/**
 * One way in which the studio misbehaves.
 *
 * submit: `drop-before-accept` reads the whole body and cuts the connection; `drop-after-accept`, `garbage-2xx`,
 * `no-id-2xx` and `silent-after-accept` accept the job first; `silent` and `status` don't accept (`status` with
 * `accept: true` does); `delay` accepts, then answers late.
 * events: `drop` cuts the stream after its first event; `reorder` swaps neighbours.
 * webhook: `silent` loses the message; `drop` cuts the connection in mid-body, `status` takes the receiver's answer
 * for this status (both are tried again); `reorder` sends the start after the end.
 * result: `drop` cuts the connection in mid-picture.
 * run: `slow` waits before the work; `fail` ends the job as failed; `ticks` reports progress without any work and
 * hands the input back. What they draw out ends before its seconds are over by POST /control/hurry, and when faults are
 * cleared.
 */
export type Fault = z.infer<typeof faultSchema>;
export type FaultPoint = Fault['point'];
export type FaultAt<Point extends FaultPoint> = Extract<Fault, { point: Point }>;
