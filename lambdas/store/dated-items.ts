import { createHash } from 'node:crypto';
import { PutItemCommand, QueryCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { plain } from './conditional-write.ts';

/** Entries beside an item, in the order of their time: evidence and audit. */

const datedItem = z.object({ entry: z.string() });

export interface DatedEntry {
  readonly pk: string;
  readonly kind: 'evidence' | 'audit';
  readonly at: number;
  readonly entry: unknown;
  /** Epoch seconds. */
  readonly ttl?: number;
}

/**
 * The key is made of the time and of what is said, so that one entry put twice (by the SDK, or by a step that is
 * repeated) is one entry. JSON text, since DynamoDB's numbers have another range than those of JSON.
 */
export async function putDated(
  client: DynamoDBClient,
  tableName: string,
  { pk, kind, at, entry, ttl }: DatedEntry,
): Promise<void> {
  const text = JSON.stringify(entry);
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  const sk = `${kind}#${String(at).padStart(15, '0')}#${digest}`;
  const Item = marshall({ pk, sk, entry: text, ttl }, { removeUndefinedValues: true });
  await client.send(new PutItemCommand({ TableName: tableName, Item }));
}

/** Oldest first, at most so many. */
export async function readDated<T>(
  client: DynamoDBClient,
  tableName: string,
  { pk, kind }: Pick<DatedEntry, 'pk' | 'kind'>,
  schema: z.ZodType<T>,
  most = Number.POSITIVE_INFINITY,
): Promise<readonly T[]> {
  const entries: T[] = [];
  let from: QueryCommand['input']['ExclusiveStartKey'];
  do {
    const page = await client.send(
      new QueryCommand({
        TableName: tableName,
        KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: marshall({ ':pk': pk, ':prefix': `${kind}#` }),
        ConsistentRead: true,
        ExclusiveStartKey: from,
        ...(Number.isFinite(most) ? { Limit: most - entries.length } : {}),
      }),
    );
    for (const item of page.Items ?? []) entries.push(schema.parse(JSON.parse(datedItem.parse(plain(item)).entry)));
    from = page.LastEvaluatedKey;
  } while (from !== undefined && entries.length < most);
  return entries;
}
