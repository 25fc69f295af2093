import { mkdir } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import * as z from 'zod';
import type { CallLedger } from '../runtime/calls.ts';
import { runtimeCaller, type StatementsByCaller } from '../runtime/permissions.ts';
import type { DynamoThreadData, DynamoThreadOrder, DynamoThreadReport } from './dynamo-thread.ts';

const keySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) }));

/** What the template says of a table; both `AWS::DynamoDB::Table` and `GlobalTable` say it in these words. */
export const tableSchema = z.object({
  AttributeDefinitions: z.array(z.object({ AttributeName: z.string(), AttributeType: z.string() })),
  KeySchema: keySchema,
  GlobalSecondaryIndexes: z
    .array(
      z.object({
        IndexName: z.string(),
        KeySchema: keySchema,
        Projection: z.object({ ProjectionType: z.string(), NonKeyAttributes: z.array(z.string()).optional() }),
      }),
    )
    .optional(),
  TimeToLiveSpecification: z.object({ AttributeName: z.string(), Enabled: z.boolean() }).optional(),
  StreamSpecification: z.undefined('The local runtime has no DynamoDB streams.').optional(),
});

export type TableDefinition = z.infer<typeof tableSchema>;

interface ExpiringTable {
  readonly name: string;
  readonly keys: TableDefinition['KeySchema'];
  readonly attribute: string;
}

/** DynamoDB on a folder: every table survives the process, however it ends. */
export class DynamoStore {
  readonly url: string;
  readonly #worker: Worker;
  readonly #expiring: ExpiringTable[] = [];

  private constructor(worker: Worker, url: string) {
    this.#worker = worker;
    this.url = url;
  }

  /** @throws where another process has the folder open. */
  static async start(folder: string, calls: CallLedger): Promise<DynamoStore> {
    await mkdir(folder, { recursive: true });
    const workerData: DynamoThreadData = { folder };
    const worker = new Worker(new URL('dynamo-thread.ts', import.meta.url), {
      workerData,
      execArgv: [],
      name: 'dynamo',
    });
    worker.on('message', (report: DynamoThreadReport) => {
      if (report.kind === 'called') calls.record(report.caller, `dynamodb.${report.operation}`);
    });
    const port = await new Promise<number>((resolve, reject) => {
      const fail = (thrown: unknown) => reject(explain(thrown, folder));
      worker.once('error', fail);
      worker.on('message', (report: DynamoThreadReport) => {
        if (report.kind !== 'listening') return;
        // From now on nobody listens for its failure, so it ends this process: without its database nothing here is true.
        worker.off('error', fail);
        resolve(report.port);
      });
    });
    return new DynamoStore(worker, `http://127.0.0.1:${port}`);
  }

  setPermissions(statements: StatementsByCaller, region: string): void {
    this.#order({ kind: 'permissions', statements, region });
  }

  /** Creates a table that isn't there. @throws where one of that name has other keys or indexes than the template. */
  async ensureTable(name: string, definition: TableDefinition): Promise<void> {
    const existing = await this.#find(name);
    if (existing === undefined) {
      await this.call('CreateTable', {
        TableName: name,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: definition.AttributeDefinitions,
        KeySchema: definition.KeySchema,
        ...(definition.GlobalSecondaryIndexes ? { GlobalSecondaryIndexes: definition.GlobalSecondaryIndexes } : {}),
      });
      while ((await this.#find(name))?.TableStatus !== 'ACTIVE') await new Promise((resolve) => setImmediate(resolve));
    } else if (shapeOf(existing) !== shapeOf(definition)) {
      throw new Error(
        `Table ${name} in the data folder has other keys or indexes than the template: delete the folder.`,
      );
    }
    const ttl = definition.TimeToLiveSpecification;
    if (ttl?.Enabled === true) this.#expiring.push({ name, keys: definition.KeySchema, attribute: ttl.AttributeName });
  }

  /** Deletes every item whose time has come, once. DynamoDB does so within days, by the same rule. */
  async expire(nowMs: number): Promise<void> {
    for (const table of this.#expiring) await this.#sweep(table, nowMs);
  }

  /** Every call that was answered before this resolves is in the ledger after it. */
  async flushCalls(): Promise<void> {
    await this.#ask({ kind: 'flush' }, 'flushed');
  }

  async call(operation: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(this.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `DynamoDB_20120810.${operation}`,
        'x-amz-date': new Date().toISOString().replaceAll(/[-:]|\.\d+/g, ''),
        authorization: `AWS4-HMAC-SHA256 Credential=${runtimeCaller}/local/local/dynamodb/aws4_request, SignedHeaders=host, Signature=local`,
      },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new DynamoRefusal(operation, answer);
    return answer;
  }

  async stop(): Promise<void> {
    await this.#ask({ kind: 'stop' }, 'stopped');
    await this.#worker.terminate();
  }

  async #find(name: string): Promise<(TableDefinition & { TableStatus: string }) | undefined> {
    try {
      const { Table } = await this.call('DescribeTable', { TableName: name });
      return Table as TableDefinition & { TableStatus: string };
    } catch (error) {
      if (error instanceof DynamoRefusal && error.type === 'ResourceNotFoundException') return undefined;
      throw error;
    }
  }

  async #sweep({ name, keys, attribute }: ExpiringTable, nowMs: number): Promise<void> {
    const expired = {
      ExpressionAttributeNames: { '#ttl': attribute },
      ExpressionAttributeValues: { ':now': { N: String(Math.floor(nowMs / 1000)) } },
    };
    let start: unknown;
    do {
      const page = await this.call('Scan', {
        TableName: name,
        FilterExpression: '#ttl <= :now',
        ...expired,
        ...(start === undefined ? {} : { ExclusiveStartKey: start }),
      });
      for (const item of page['Items'] as Record<string, unknown>[]) {
        const key = Object.fromEntries(keys.map(({ AttributeName }) => [AttributeName, item[AttributeName]]));
        await this.#deleteIfStill(name, key, expired);
      }
      start = page['LastEvaluatedKey'];
    } while (start !== undefined);
  }

  async #deleteIfStill(table: string, key: object, expired: object): Promise<void> {
    try {
      await this.call('DeleteItem', { TableName: table, Key: key, ConditionExpression: '#ttl <= :now', ...expired });
    } catch (error) {
      // The item was given a later end, or none, since the scan read it.
      if (!(error instanceof DynamoRefusal) || error.type !== 'ConditionalCheckFailedException') throw error;
    }
  }

  async #ask(order: DynamoThreadOrder, kind: DynamoThreadReport['kind']): Promise<void> {
    const answered = new Promise<void>((resolve) => {
      const listen = (report: DynamoThreadReport) => {
        if (report.kind !== kind) return;
        this.#worker.off('message', listen);
        resolve();
      };
      this.#worker.on('message', listen);
    });
    this.#order(order);
    await answered;
  }

  #order(order: DynamoThreadOrder): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
    this.#worker.postMessage(order);
  }
}

class DynamoRefusal extends Error {
  readonly type: string;

  constructor(operation: string, answer: Record<string, unknown>) {
    super(`${operation}: ${JSON.stringify(answer)}`);
    this.type = String(answer['__type']).split('#').at(-1) ?? '';
  }
}

function shapeOf(table: TableDefinition): string {
  const indexes = (table.GlobalSecondaryIndexes ?? []).map(({ IndexName, KeySchema, Projection }) => ({
    IndexName,
    KeySchema: KeySchema.map((key) => `${key.KeyType} ${key.AttributeName}`).toSorted(),
    Projection: Projection.ProjectionType,
  }));
  return JSON.stringify([
    table.KeySchema.map((key) => `${key.KeyType} ${key.AttributeName}`).toSorted(),
    indexes.toSorted((a, b) => a.IndexName.localeCompare(b.IndexName)),
  ]);
}

function explain(thrown: unknown, folder: string): Error {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const locked = /lock/i.test(`${error.message} ${String(error.cause)}`);
  return locked
    ? new Error(`Another process has ${folder} open: is Slowlane already running?`, { cause: error })
    : error;
}
