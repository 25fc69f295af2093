import { httpHandler } from '../http/entry.ts';
import { operateLanesRoute } from '../http/operate-lanes.ts';
import { createSqs, SqsDoorbell } from '../queue/sqs-doorbell.ts';
import { operateLanesEnvironment, readEnvironment } from '../runtime/env.ts';
import { DynamoAuditStore } from '../store/dynamo-audit-store.ts';
import { DynamoJobIndex } from '../store/dynamo-job-index.ts';
import { DynamoLaneStore } from '../store/dynamo-lane-store.ts';
import { wireHttp } from '../wiring/http.ts';

const dayMs = 86_400_000;

const env = readEnvironment(operateLanesEnvironment);
const wiring = wireHttp(env, 'operate-lanes');
const { authenticator, clock, dynamo } = wiring;
const deployed = Object.entries(env.LANES);
const world = {
  clock,
  lanes: new DynamoLaneStore(
    dynamo,
    env.TABLE_NAME,
    Object.fromEntries(deployed.map(([lane, { cap }]) => [lane, cap])),
  ),
  index: new DynamoJobIndex(dynamo, env.TABLE_NAME),
  doorbell: new SqsDoorbell(createSqs(), Object.fromEntries(deployed.map(([lane, { queueUrl }]) => [lane, queueUrl]))),
  audit: new DynamoAuditStore(dynamo, env.TABLE_NAME, env.RETENTION.auditDays * dayMs),
};
const ceilings = Object.fromEntries(deployed.map(([lane, { ceiling }]) => [lane, ceiling]));

export const handler = httpHandler(operateLanesRoute({ authenticator, world, ceilings }), wiring);
