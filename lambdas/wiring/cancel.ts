import type { CancelWorld } from '../domain/cancel-job.ts';
import type { Job } from '../domain/job.ts';
import { showJob } from '../domain/show-job.ts';
import { jobBody } from '../http/job-body.ts';
import { ApiGatewayConnections } from '../progress/connections.ts';
import { EventBridgeBus } from '../progress/event-bridge-bus.ts';
import { SocketFeed } from '../progress/socket-feed.ts';
import type { CancelJobEnvironment } from '../runtime/env.ts';
import type { Log } from '../runtime/log.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { createNotices } from '../runtime/notices.ts';
import { wireShow, type HttpWiring, type ShowWiring } from './http.ts';

const dayMs = 86_400_000;

/** What a function needs that may end a job at its owner's word: it tells the followers and the team's bus. */
export function wireCancel(
  env: CancelJobEnvironment,
  { dynamo, log, clock }: HttpWiring,
): ShowWiring & Omit<CancelWorld, 'notAnnounced'> {
  const show = wireShow(env, dynamo);
  const render = async (job: Job) => jobBody(job, await showJob(job, show));
  return {
    ...show,
    bus: new EventBridgeBus(env.EVENT_BUS_NAME, render),
    feed: new SocketFeed({
      connections: new ApiGatewayConnections(env.SOCKET_MANAGEMENT_URL),
      render,
      onGone: (connectionId, jobId) => forget(connectionId, jobId, show, log),
      onFailed: (error) => log.write('follower_not_reached', { error }),
    }),
    notices: createNotices(log, createMetrics({ environment: env.ENVIRONMENT, clock })),
    retentionMs: env.RETENTION.jobDays * dayMs,
  };
}

async function forget(connectionId: string, jobId: string, { jobs }: ShowWiring, log: Log): Promise<void> {
  log.about({ jobId }).write('follower_gone', { status: 410 });
  await jobs.unfollow(jobId, connectionId);
}
