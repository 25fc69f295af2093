import { httpHandler } from '../http/entry.ts';
import { submitJobRoute } from '../http/submit-job.ts';
import { createSqs, SqsDoorbell } from '../queue/sqs-doorbell.ts';
import { readEnvironment, submitJobEnvironment } from '../runtime/env.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { systemTokens } from '../runtime/tokens.ts';
import { DynamoOwnerStore } from '../store/dynamo-owner-store.ts';
import { DynamoUploadStore } from '../store/dynamo-upload-store.ts';
import { wireHttp, wireShow } from '../wiring/http.ts';

const dayMs = 86_400_000;

const env = readEnvironment(submitJobEnvironment);
const wiring = wireHttp(env, 'submit-job');
const queueUrls = Object.fromEntries(Object.entries(env.LANES).map(([lane, { queueUrl }]) => [lane, queueUrl]));
const world = {
  ...wireShow(env, wiring.dynamo),
  owners: new DynamoOwnerStore(wiring.dynamo, env.TABLE_NAME),
  uploads: new DynamoUploadStore(wiring.dynamo, env.TABLE_NAME),
  doorbell: new SqsDoorbell(createSqs(), queueUrls),
  tokens: systemTokens,
  limits: env.LIMITS,
  retentionMs: env.RETENTION.jobDays * dayMs,
};
const metrics = createMetrics({ environment: env.ENVIRONMENT, clock: wiring.clock });

export const handler = httpHandler(
  submitJobRoute({ authenticator: wiring.authenticator, world, metrics, publicUrl: env.PUBLIC_URL }),
  wiring,
);
