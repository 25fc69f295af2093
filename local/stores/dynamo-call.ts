import type { Call } from '../runtime/permissions.ts';
import { accountId } from '../runtime/resolve.ts';

interface DynamoBody {
  TableName?: string;
  IndexName?: string;
  RequestItems?: Record<string, unknown>;
}

/** What a DynamoDB request needs to be allowed: its action on its tables, or on the index that it reads. */
export function dynamoCall(operation: string, body: string, region: string): Call {
  const { TableName, IndexName, RequestItems } = (body === '' ? {} : JSON.parse(body)) as DynamoBody;
  const tables = TableName === undefined ? Object.keys(RequestItems ?? {}) : [TableName];
  const arn = (table: string) => `arn:aws:dynamodb:${region}:${accountId}:table/${table.split('/').at(-1)}`;
  return {
    action: `dynamodb:${operation}`,
    resources: tables.map((table) => (IndexName === undefined ? arn(table) : `${arn(table)}/index/${IndexName}`)),
  };
}
