import { userInfo } from 'node:os';
import { parseArgs } from 'node:util';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { markRestored } from '../lambdas/domain/mark-restored.ts';
import { systemClock } from '../lambdas/runtime/clock.ts';
import { DynamoAuditStore } from '../lambdas/store/dynamo-audit-store.ts';
import { DynamoEvidenceStore } from '../lambdas/store/dynamo-evidence-store.ts';
import { DynamoJobIndex } from '../lambdas/store/dynamo-job-index.ts';
import { DynamoJobStore } from '../lambdas/store/dynamo-job-store.ts';
import { DynamoLaneStore } from '../lambdas/store/dynamo-lane-store.ts';
import { type Environment, environmentNamed } from '../lib/environments.ts';
import { runWithAws } from './aws-terminal.ts';
import { findTable } from './find-table.ts';
import { HelpWanted, UsageError } from './usage.ts';

const usage = `After a restore from a backup: pauses every lane, then flags every job that was not ended, with your own AWS credentials.

  npm run restored -- --environment prod --restored-to 2026-11-30T12:00:00Z --reason "incident 42" [--table NAME]

Run it on the restored table before any worker can see it. Afterwards settle what was flagged, and open the lanes.`;

const dayMs = 86_400_000;

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        environment: { type: 'string' },
        table: { type: 'string' },
        'restored-to': { type: 'string' },
        reason: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The arguments are not readable');
  }
}

function readEnvironment(name: string): Environment {
  try {
    return environmentNamed(name);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function readArguments(argv: readonly string[]) {
  const values = parse(argv);
  if (values.help) throw new HelpWanted();
  const { environment, table, reason } = values;
  if (environment === undefined) throw new UsageError('--environment is missing');
  if (reason === undefined) throw new UsageError('--reason is missing');
  const restoredTo = Date.parse(values['restored-to'] ?? '');
  if (Number.isNaN(restoredTo)) throw new UsageError('--restored-to is missing or no time');
  return { environment: readEnvironment(environment), table, reason, restoredTo };
}

async function main(client: DynamoDBClient): Promise<void> {
  const { environment, table, reason, restoredTo } = readArguments(process.argv.slice(2));
  const tableName = table ?? (await findTable(client, environment.name));
  const caps = Object.fromEntries(Object.entries(environment.lanes).map(([lane, { cap }]) => [lane, cap]));
  const world = {
    clock: systemClock,
    jobs: new DynamoJobStore(client, tableName),
    index: new DynamoJobIndex(client, tableName),
    lanes: new DynamoLaneStore(client, tableName, caps),
    evidence: new DynamoEvidenceStore(client, tableName, environment.retention.evidenceDays * dayMs),
    audit: new DynamoAuditStore(client, tableName, environment.retention.auditDays * dayMs),
    // Nobody follows a job of another time, and the reconciler announces what was flagged.
    feed: { send: () => undefined, flush: () => Promise.resolve() },
    notices: { note: () => undefined },
  };
  const actor = `operator ${userInfo().username}`;
  const { paused, flagged, left } = await markRestored(world, Object.keys(caps), { actor, reason, restoredTo });
  console.log(`Paused: ${paused.join(', ')}. Flagged: ${flagged}. Left as they were: ${left}.`);
}

process.exitCode = await runWithAws(usage, main);
