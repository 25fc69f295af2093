import { createCatalogue } from '../catalogue/features.ts';
import type { Job } from '../domain/job.ts';
import { showJob } from '../domain/show-job.ts';
import type { World } from '../domain/world.ts';
import { jobBody, type JobBody } from '../http/job-body.ts';
import { ApiGatewayConnections } from '../progress/connections.ts';
import { EventBridgeBus } from '../progress/event-bridge-bus.ts';
import { SocketFeed } from '../progress/socket-feed.ts';
import { createSqs, SqsDoorbell } from '../queue/sqs-doorbell.ts';
import { systemClock, systemWaiting } from '../runtime/clock.ts';
import type { ReconcileJobsEnvironment } from '../runtime/env.ts';
import { createLog, type Log } from '../runtime/log.ts';
import { createMetrics, type Metrics } from '../runtime/metrics.ts';
import { createNotices } from '../runtime/notices.ts';
import { createSecret, signingSecret, vendorSecret } from '../runtime/secrets.ts';
import { systemTokens } from '../runtime/tokens.ts';
import { createDynamo } from '../store/dynamo.ts';
import { DynamoAuditStore } from '../store/dynamo-audit-store.ts';
import { DynamoEvidenceStore } from '../store/dynamo-evidence-store.ts';
import { DynamoJobIndex } from '../store/dynamo-job-index.ts';
import { DynamoJobStore } from '../store/dynamo-job-store.ts';
import { DynamoLaneStore } from '../store/dynamo-lane-store.ts';
import { S3FileStore } from '../store/s3-file-store.ts';
import { callbackUrl } from '../vendors/callback.ts';
import { createVendors } from '../vendors/registry.ts';

export interface WiredWorld extends World {
  readonly audit: DynamoAuditStore;
  readonly metrics: Metrics;
  readonly log: Log;
}

const dayMs = 86_400_000;

/** The world of every function that moves jobs: real stores, real vendors, real sockets. */
export function createWorld(env: ReconcileJobsEnvironment, functionName: string): WiredWorld {
  const clock = systemClock;
  const waiting = systemWaiting;
  const log = createLog({ environment: env.ENVIRONMENT, function: functionName, clock });
  const metrics = createMetrics({ environment: env.ENVIRONMENT, clock });
  const dynamo = createDynamo();
  const jobs = new DynamoJobStore(dynamo, env.TABLE_NAME);
  const index = new DynamoJobIndex(dynamo, env.TABLE_NAME);
  const caps = Object.fromEntries(Object.entries(env.LANES).map(([lane, { cap }]) => [lane, cap]));
  const queueUrls = Object.fromEntries(Object.entries(env.LANES).map(([lane, { queueUrl }]) => [lane, queueUrl]));
  const lanes = new DynamoLaneStore(dynamo, env.TABLE_NAME, caps);
  const files = new S3FileStore({ bucket: env.BUCKET_NAME, clock, waiting });
  const signing = createSecret(env.SIGNING_SECRET_ARN, signingSecret, { clock });
  const vendors = createVendors(env.VENDORS, {
    clock,
    waiting,
    secretOf: (arn) => createSecret(arn, vendorSecret, { clock }),
  });
  const catalogue = createCatalogue(env.FEATURES, (vendor) => vendors.named(vendor)?.version);
  const prices = (vendor: string) => env.VENDORS[vendor]?.price;
  const render = async (job: Job): Promise<JobBody> =>
    jobBody(job, await showJob(job, { jobs, files, index, lanes, catalogue, prices, clock }));
  const feed = new SocketFeed({
    connections: new ApiGatewayConnections(env.SOCKET_MANAGEMENT_URL),
    render,
    onGone: async (connectionId, jobId) => {
      log.about({ jobId }).write('follower_gone', { status: 410 });
      await jobs.unfollow(jobId, connectionId);
    },
    onFailed: (error) => log.write('follower_not_reached', { error }),
  });
  return {
    clock,
    waiting,
    tokens: systemTokens,
    jobs,
    index,
    lanes,
    doorbell: new SqsDoorbell(createSqs(), queueUrls),
    files,
    evidence: new DynamoEvidenceStore(dynamo, env.TABLE_NAME, env.RETENTION.evidenceDays * dayMs),
    audit: new DynamoAuditStore(dynamo, env.TABLE_NAME, env.RETENTION.auditDays * dayMs),
    vendors,
    bus: new EventBridgeBus(env.EVENT_BUS_NAME, render),
    feed,
    metrics,
    log,
    notices: createNotices(log, metrics),
    retentionMs: env.RETENTION.jobDays * dayMs,
    callbackUrl: async (job) => {
      if (env.VENDORS[job.vendor]?.webhooks !== true) return undefined;
      const { vendor, id: jobId, generation } = job;
      return callbackUrl(env.PUBLIC_URL, { vendor, jobId, generation }, await signing.read());
    },
  };
}
