import {
  BatchGetItemCommand,
  QueryCommand,
  type AttributeValue,
  type DynamoDBClient,
  type KeysAndAttributes,
  type QueryCommandOutput,
} from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { states as everyState, type Job, type State } from '../domain/job.ts';
import type { Due, Flagged, JobIndex, Page } from '../domain/ports.ts';
import { plain, type PlainItem } from './conditional-write.ts';
import { cursorOf, startOf } from './cursor.ts';
import { Expression } from './expression.ts';
import { jobKey, keyItem, readOf, type Item } from './item.ts';
import { storedOwner } from './job-attributes.ts';

/** BatchGetItem takes at most 100 keys. */
const longestPage = 100;
/** How often a batch that DynamoDB cut short is asked again for the rest. */
const batchTries = 5;

const dueItem = z.object({ pk: z.string(), checkAt: z.number() });
const idItem = z.object({ pk: z.string() });
const flaggedItem = z.object({ pk: z.string(), flaggedAt: z.number() });
const stateItem = z.object({ pk: z.string(), state: z.enum(everyState).optional() });

interface IndexQuery {
  readonly index: 'queued' | 'active' | 'attention' | 'owner';
  readonly key: string;
  readonly equals: string;
  readonly range?: { readonly attribute: string; readonly operator: '<' | '<='; readonly value: number };
  readonly newestFirst?: boolean;
  readonly limit?: number;
  readonly from?: Record<string, AttributeValue> | undefined;
  readonly count?: boolean;
}

/** The sparse indexes of the one table: eventually consistent, keys only. */
export class DynamoJobIndex implements JobIndex {
  readonly #client: DynamoDBClient;
  readonly #table: string;

  constructor(client: DynamoDBClient, tableName: string) {
    this.#client = client;
    this.#table = tableName;
  }

  async queued(lane: string, limit: number): Promise<readonly string[]> {
    const page = await this.#query({ index: 'queued', key: 'queuedLane', equals: lane, limit });
    return idsOf(page);
  }

  async countQueued(lane: string): Promise<number> {
    return this.#count({ index: 'queued', key: 'queuedLane', equals: lane });
  }

  async countAhead(lane: string, rank: number, most: number): Promise<number> {
    const below = { attribute: 'rank', operator: '<', value: rank } as const;
    return this.#count({ index: 'queued', key: 'queuedLane', equals: lane, range: below }, most);
  }

  async due(shard: number, until: number, cursor: string | undefined, limit: number): Promise<Page<Due>> {
    const page = await this.#query({
      index: 'active',
      key: 'activeShard',
      equals: `${shard}`,
      range: { attribute: 'checkAt', operator: '<=', value: until },
      limit,
      from: startOf(cursor),
    });
    const items = (page.Items ?? []).map((item) => {
      const { pk, checkAt } = dueItem.parse(plain(item));
      return { id: pk, checkAt };
    });
    return { items, next: cursorOf(page.LastEvaluatedKey) };
  }

  async flagged(lane: string, cursor: string | undefined, limit: number): Promise<Page<Flagged>> {
    const from = flaggedAfter(lane, cursor);
    const page = await this.#query({ index: 'attention', key: 'attention', equals: lane, limit, from });
    const items = (page.Items ?? []).map((item) => {
      const { pk, flaggedAt } = flaggedItem.parse(plain(item));
      return { id: pk, since: flaggedAt, cursor: flaggedPlace(item) };
    });
    return { items, next: page.LastEvaluatedKey && flaggedPlace(page.LastEvaluatedKey) };
  }

  async glanceFlagged(lane: string, cursor: string | undefined, limit: number): Promise<Page<Job>> {
    const { items, next } = await this.flagged(lane, cursor, Math.min(limit, longestPage));
    const jobs: Job[] = [];
    for await (const item of this.#batch(items.map(({ id }) => id))) {
      const read = readOf(item);
      if (read.kind === 'job') jobs.push(read.job);
    }
    return { items: jobs, next };
  }

  async ofOwner(
    owner: string,
    states: readonly State[] | undefined,
    cursor: string | undefined,
    limit: number,
  ): Promise<Page<string>> {
    const page = await this.#query({
      index: 'owner',
      key: 'owner',
      equals: storedOwner(owner),
      newestFirst: true,
      limit: Math.min(limit, longestPage),
      from: startOf(cursor),
    });
    const ids = idsOf(page);
    const items = states === undefined ? ids : await this.#inStates(ids, states);
    return { items, next: cursorOf(page.LastEvaluatedKey) };
  }

  /** The index knows no states: they change with each tick of a job, and it would be rewritten with each. */
  async #inStates(ids: readonly string[], states: readonly State[]): Promise<readonly string[]> {
    const wanted = new Set<string>();
    const only = { ProjectionExpression: 'pk, #state', ExpressionAttributeNames: { '#state': 'state' } };
    for await (const item of this.#batch(ids, only)) {
      const { pk, state } = stateItem.parse(item);
      if (state !== undefined && states.includes(state)) wanted.add(pk);
    }
    return ids.filter((id) => wanted.has(id));
  }

  /** Of a page's jobs those that are there, in no order, as they were a moment ago. */
  async *#batch(ids: readonly string[], only: Partial<KeysAndAttributes> = {}): AsyncGenerator<PlainItem> {
    let keys = ids.map((id) => keyItem(jobKey(id)));
    for (let tries = 0; keys.length > 0; tries += 1) {
      if (tries === batchTries) throw new Error(`DynamoDB left ${keys.length} jobs of a page unread.`);
      const { Responses, UnprocessedKeys } = await this.#client.send(
        new BatchGetItemCommand({ RequestItems: { [this.#table]: { ...only, Keys: keys } } }),
      );
      for (const item of Responses?.[this.#table] ?? []) yield plain(item);
      keys = UnprocessedKeys?.[this.#table]?.Keys ?? [];
    }
  }

  async #count(query: Omit<IndexQuery, 'limit' | 'from' | 'count'>, most = Number.POSITIVE_INFINITY): Promise<number> {
    let counted = 0;
    let from: Record<string, AttributeValue> | undefined;
    do {
      const limit = Number.isFinite(most) ? { limit: most - counted } : {};
      const page = await this.#query({ ...query, ...limit, count: true, from });
      counted += page.Count ?? 0;
      from = page.LastEvaluatedKey;
    } while (from !== undefined && counted < most);
    return counted;
  }

  async #query(query: IndexQuery): Promise<QueryCommandOutput> {
    const { index, key, equals, range, newestFirst = false, limit, from, count = false } = query;
    const expression = new Expression();
    const conditions = [`${expression.name(key)} = ${expression.value(equals)}`];
    if (range !== undefined) {
      conditions.push(`${expression.name(range.attribute)} ${range.operator} ${expression.value(range.value)}`);
    }
    return this.#client.send(
      new QueryCommand({
        TableName: this.#table,
        IndexName: index,
        KeyConditionExpression: conditions.join(' AND '),
        ...expression.placeholders(),
        ScanIndexForward: !newestFirst,
        ...(limit === undefined ? {} : { Limit: limit }),
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        ...(count ? { Select: 'COUNT' as const } : {}),
      }),
    );
  }
}

/** Short, since a list over many lanes carries one of each: the rest of its key is known. */
function flaggedPlace(item: Item): string {
  const { pk, flaggedAt } = flaggedItem.parse(plain(item));
  return `${flaggedAt} ${pk}`;
}

/** @throws Error for a text that is no place of ours. */
function flaggedAfter(lane: string, place: string | undefined): Item | undefined {
  if (place === undefined) return undefined;
  const [, flaggedAt, pk] = /^(\d+) (\S+)$/.exec(place) ?? [];
  if (flaggedAt === undefined || pk === undefined) throw new Error('This is no place in the list of flagged jobs.');
  return { ...keyItem(jobKey(pk)), attention: { S: lane }, flaggedAt: { N: flaggedAt } };
}

function idsOf(page: QueryCommandOutput): readonly string[] {
  return (page.Items ?? []).map((item) => idItem.parse(plain(item)).pk);
}
