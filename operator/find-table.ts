import { paginateListTables, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { UsageError } from './usage.ts';

/** The data stack's only table: CloudFormation names it after the stack. */
export async function findTable(client: DynamoDBClient, environment: string): Promise<string> {
  const prefix = `Slowlane-${environment}-data-`;
  const found: string[] = [];
  for await (const { TableNames: names = [] } of paginateListTables({ client }, {})) {
    found.push(...names.filter((name) => name.startsWith(prefix)));
  }
  const [table, ...others] = found;
  if (table !== undefined && others.length === 0) return table;
  throw new UsageError(
    table === undefined
      ? `No table here is called ${prefix}…: is this the right account and region? Else say --table`
      : `Several tables are called ${prefix}…: say --table`,
  );
}
