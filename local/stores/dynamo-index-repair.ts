import { createRequire } from 'node:module';
import { dynaliteDatabase, type IndexedTable } from './dynamo-shim.ts';

interface LevelDatabase {
  open(): Promise<void>;
  close(): Promise<void>;
  iterator(range: { gte: string; lt: string }): AsyncIterable<[key: string, value: unknown]>;
  batch(operations: ({ type: 'put'; key: string; value: unknown } | { type: 'del'; key: string })[]): Promise<void>;
}

const require = createRequire(dynaliteEntry());
const { Level } = require('level') as {
  Level: new (path: string, options: { valueEncoding: 'json' }) => LevelDatabase;
};

const batchSize = 500;

/**
 * Rebuilds every index from its table's items. dynalite writes an item and its index entries one after the other, so a
 * process that is killed in between leaves an index that disagrees with its table for ever, which DynamoDB never does.
 */
export async function repairIndexes(folder: string): Promise<void> {
  const database = new Level(folder, { valueEncoding: 'json' });
  await database.open();
  try {
    for await (const [, table] of database.iterator(range('table~'))) {
      await rebuildIndexes(database, table as IndexedTable);
    }
  } finally {
    await database.close();
  }
}

async function rebuildIndexes(database: LevelDatabase, table: IndexedTable): Promise<void> {
  const indexes = table.GlobalSecondaryIndexes ?? [];
  const rebuilt = new Map<string, unknown>();
  for await (const [, item] of database.iterator(range(`item-${table.TableName}~`))) {
    for (const write of dynaliteDatabase.getIndexActions(indexes, undefined, item, table).puts) {
      rebuilt.set(`index-global~${table.TableName}~${write.index}~${write.key}`, write.item);
    }
  }
  const operations: Parameters<LevelDatabase['batch']>[0] = [];
  for (const { IndexName } of indexes) {
    for await (const [key, value] of database.iterator(range(`index-global~${table.TableName}~${IndexName}~`))) {
      const right = rebuilt.get(key);
      if (right === undefined) operations.push({ type: 'del', key });
      else if (JSON.stringify(right) === JSON.stringify(value)) rebuilt.delete(key);
    }
  }
  for (const [key, value] of rebuilt) operations.push({ type: 'put', key, value });
  for (let start = 0; start < operations.length; start += batchSize) {
    await database.batch(operations.slice(start, start + batchSize));
  }
}

const range = (prefix: string) => ({ gte: prefix, lt: `${prefix}\u{FF}` });

/** dynalite's own dependencies are resolved from where it lies. */
function dynaliteEntry(): string {
  return createRequire(import.meta.url).resolve('dynalite');
}
