import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
  type AttributeValue,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import {
  SCOPES,
  type AccessStore,
  type ApiKey,
  type KeyCreation,
  type KeyRevocation,
  type Principal,
  type TicketUse,
} from '../domain/access.ts';

type Item = Record<string, AttributeValue>;

const keyItem = z.object({
  id: z.string(),
  tenant: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  createdAtMs: z.number(),
  lastUsedAtMs: z.number().exactOptional(),
  revokedAtMs: z.number().exactOptional(),
}) satisfies z.ZodType<ApiKey>;

const listItem = z.object({ sk: z.string(), keySha256: z.string() });

const ticketItem = z.object({
  expiresAtMs: z.number(),
  principal: z.object({
    tenant: z.string(),
    user: z.string(),
    kind: z.enum(['key', 'client-token', 'oidc']),
    keyId: z.string().exactOptional(),
    scopes: z.array(z.enum(SCOPES)),
    features: z.array(z.string()).exactOptional(),
    maxJobs: z.number().exactOptional(),
  }) satisfies z.ZodType<Principal>,
});

const LIST = 'api-keys';
/** A ticket's item goes some time after it expired; that it has expired is decided by the clock, not by the TTL. */
const TICKET_KEPT_SECONDS = 3600;

const keyOf = (keySha256: string): Item => marshall({ pk: `api-key#${keySha256}`, sk: 'api-key' });
const listKeyOf = (keyId: string): Item => marshall({ pk: LIST, sk: keyId });
const ticketKeyOf = (ticketSha256: string): Item => marshall({ pk: `ticket#${ticketSha256}`, sk: 'ticket' });
const apiKeyOf = (item: Item): ApiKey => keyItem.parse(unmarshall(item));

/** API keys and socket tickets in the one table. A key has a second item, by which it is listed and revoked. */
export class DynamoAccessStore implements AccessStore {
  readonly #client: DynamoDBClient;
  readonly #table: string;

  constructor(client: DynamoDBClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async findKey(keySha256: string): Promise<ApiKey | undefined> {
    const read = new GetItemCommand({ TableName: this.#table, Key: keyOf(keySha256), ConsistentRead: true });
    const { Item: item } = await this.#client.send(read);
    return item === undefined ? undefined : apiKeyOf(item);
  }

  async createKey(keySha256: string, key: ApiKey): Promise<KeyCreation> {
    // The list's entry first: if we die in between, there is an entry without a key, never a key that can't be revoked.
    const listed = await this.#putNew(listKeyOf(key.id), { keySha256 });
    if (listed.kind === 'present' && listItem.parse(unmarshall(listed.item)).keySha256 !== keySha256) {
      return { kind: 'already_exists' };
    }
    const stored = await this.#putNew(keyOf(keySha256), { ...key });
    if (stored.kind === 'put') return { kind: 'created' };
    // A retry of our own put, whose answer was lost, finds our key: the id is unique to this creation.
    const found = apiKeyOf(stored.item);
    if (found.id === key.id && found.createdAtMs === key.createdAtMs) return { kind: 'created' };
    if (found.id !== key.id) {
      await this.#client.send(new DeleteItemCommand({ TableName: this.#table, Key: listKeyOf(key.id) }));
    }
    return { kind: 'already_exists' };
  }

  async listKeys(): Promise<readonly ApiKey[]> {
    const keys: ApiKey[] = [];
    for await (const { keySha256 } of this.#listed()) {
      const key = await this.findKey(keySha256);
      if (key !== undefined) keys.push(key);
    }
    return keys.toSorted((one, other) => one.createdAtMs - other.createdAtMs || (one.id < other.id ? -1 : 1));
  }

  async revokeKey(keyId: string, revokedAtMs: number): Promise<KeyRevocation> {
    const read = new GetItemCommand({ TableName: this.#table, Key: listKeyOf(keyId), ConsistentRead: true });
    const { Item: listed } = await this.#client.send(read);
    if (listed === undefined) return { kind: 'not_found' };
    try {
      const { Attributes: revoked } = await this.#client.send(
        new UpdateItemCommand({
          TableName: this.#table,
          Key: keyOf(listItem.parse(unmarshall(listed)).keySha256),
          UpdateExpression: 'SET revokedAtMs = :now',
          ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(revokedAtMs)',
          ExpressionAttributeValues: marshall({ ':now': revokedAtMs }),
          ReturnValues: 'ALL_NEW',
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      );
      if (revoked === undefined) throw new Error('DynamoDB returned no item for an update with ALL_NEW');
      return { kind: 'revoked', key: apiKeyOf(revoked) };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      return error.Item === undefined ? { kind: 'not_found' } : { kind: 'already_revoked', key: apiKeyOf(error.Item) };
    }
  }

  async noteKeyUse(keySha256: string, usedAtMs: number): Promise<void> {
    try {
      await this.#client.send(
        new UpdateItemCommand({
          TableName: this.#table,
          Key: keyOf(keySha256),
          UpdateExpression: 'SET lastUsedAtMs = :now',
          // Sandboxes note the same hour; the later one stays, and a key that is gone is not made anew.
          ConditionExpression: 'attribute_exists(pk) AND (attribute_not_exists(lastUsedAtMs) OR lastUsedAtMs < :now)',
          ExpressionAttributeValues: marshall({ ':now': usedAtMs }),
        }),
      );
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
    }
  }

  async putTicket(ticketSha256: string, ticket: { principal: Principal; expiresAtMs: number }): Promise<void> {
    const ttl = Math.ceil(ticket.expiresAtMs / 1000) + TICKET_KEPT_SECONDS;
    const item = { ...ticketKeyOf(ticketSha256), ...marshall({ ...ticket, ttl }, { removeUndefinedValues: true }) };
    await this.#client.send(new PutItemCommand({ TableName: this.#table, Item: item }));
  }

  async useTicket(ticketSha256: string, nowMs: number): Promise<TicketUse> {
    try {
      const { Attributes: taken } = await this.#client.send(
        new DeleteItemCommand({
          TableName: this.#table,
          Key: ticketKeyOf(ticketSha256),
          ConditionExpression: 'attribute_exists(pk)',
          ReturnValues: 'ALL_OLD',
        }),
      );
      if (taken === undefined) throw new Error('DynamoDB returned no item for a delete with ALL_OLD');
      const { principal, expiresAtMs } = ticketItem.parse(unmarshall(taken));
      return nowMs < expiresAtMs ? { kind: 'admitted', principal } : { kind: 'expired' };
    } catch (error) {
      // Where the SDK repeats a delete whose answer was lost, the ticket counts as used: its owner asks for another.
      if (error instanceof ConditionalCheckFailedException) return { kind: 'unknown' };
      throw error;
    }
  }

  async *#listed(): AsyncGenerator<z.infer<typeof listItem>> {
    let from: Item | undefined;
    do {
      const page = await this.#client.send(
        new QueryCommand({
          TableName: this.#table,
          KeyConditionExpression: 'pk = :list',
          ExpressionAttributeValues: marshall({ ':list': LIST }),
          ConsistentRead: true,
          ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        }),
      );
      for (const item of page.Items ?? []) yield listItem.parse(unmarshall(item));
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
  }

  async #putNew(key: Item, rest: Record<string, unknown>): Promise<{ kind: 'put' } | { kind: 'present'; item: Item }> {
    try {
      await this.#client.send(
        new PutItemCommand({
          TableName: this.#table,
          Item: { ...key, ...marshall(rest, { removeUndefinedValues: true }) },
          ConditionExpression: 'attribute_not_exists(pk)',
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      );
      return { kind: 'put' };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException) || error.Item === undefined) throw error;
      return { kind: 'present', item: error.Item };
    }
  }
}
