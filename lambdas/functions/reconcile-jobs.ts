import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { reconcileJobs } from '../domain/reconcile-jobs.ts';
import { readEnvironment, reconcileJobsEnvironment } from '../runtime/env.ts';
import { withinInvocation } from '../runtime/invocation.ts';
import { withinShift } from '../runtime/shift.ts';
import { publishTick, writeTick } from '../runtime/tick-metrics.ts';
import { createWorld } from '../wiring/world.ts';

const env = readEnvironment(reconcileJobsEnvironment);
const world = createWorld(env, 'reconcile-jobs');
const lanes = Object.keys(env.LANES);
const budgets = new Map(
  Object.entries(env.VENDORS).flatMap(([name, { reconcile }]) => (reconcile ? [[name, reconcile]] : [])),
);

export const handler = middy({ timeoutEarlyInMillis: 0 }).handler((_event: unknown, context: Context) =>
  withinInvocation(context.awsRequestId, () => tick(context)),
);

async function tick(context: Context): Promise<void> {
  const startedAt = world.clock.now();
  const report = await withinShift(world.clock, context.getRemainingTimeInMillis(), (shift) =>
    reconcileJobs(world, lanes, budgets, shift),
  );
  publishTick(report, world.metrics);
  writeTick(report, world.clock.now() - startedAt, world.log);
  // Last: a schedule that swallows its errors is green for ever.
  if (report.errors.length > 0) throw new AggregateError(report.errors, `${report.errors.length} looks failed`);
}
