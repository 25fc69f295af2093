import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { dispatchJob } from '../domain/dispatch-job.ts';
import { eachRecord } from '../queue/each-record.ts';
import { ringOf } from '../queue/ring.ts';
import { dispatchJobEnvironment, readEnvironment } from '../runtime/env.ts';
import { withinInvocation } from '../runtime/invocation.ts';
import { withinShift } from '../runtime/shift.ts';
import { createWorld } from '../wiring/world.ts';

const env = readEnvironment(dispatchJobEnvironment);
const world = createWorld(env, 'dispatch-job');
const lane = env.LANE;

export const handler = middy({ timeoutEarlyInMillis: 0 }).handler((event: unknown, context: Context) =>
  withinInvocation(context.awsRequestId, () =>
    eachRecord(
      event,
      async ({ body }) => {
        const { hint } = ringOf(body);
        const remainingMs = context.getRemainingTimeInMillis();
        await withinShift(world.clock, remainingMs, (shift) => dispatchJob(world, { lane, hint }, shift));
      },
      (error) => {
        world.log.write('ring_failed', { lane, error });
        world.metrics.put('FailedRings', 1, lane);
      },
    ),
  ),
);
