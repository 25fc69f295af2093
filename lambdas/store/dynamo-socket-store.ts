import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { longestSocketMs, type SocketStore } from '../domain/sockets.ts';
import { putIf, updateIf, type PlainItem, type Written } from './conditional-write.ts';
import { Expression, updateText } from './expression.ts';
import { keyItem, type Key } from './item.ts';

/** An owner's open sockets are one item, so that admitting one is one conditional update, exact under races. */
const socketsItem = z.object({ open: z.record(z.string(), z.number()) });

/** Each lost race means that somebody else was admitted, of whom there are at most as many as the limit. */
const mostTries = 20;

export class DynamoSocketStore implements SocketStore {
  readonly #client: DynamoDBClient;
  readonly #table: string;

  constructor(client: DynamoDBClient, tableName: string) {
    this.#client = client;
    this.#table = tableName;
  }

  /**
   * The first try supposes that there is room; a refusal brings the sockets, which name those that must have ended. The
   * next try then removes exactly these and takes the place of one.
   */
  async admit(owner: string, connectionId: string, now: number, limit: number): Promise<'admitted' | 'too_many'> {
    let ended: readonly string[] = [];
    for (let tries = 0; tries < mostTries; tries += 1) {
      const written = await this.#add(owner, connectionId, now, limit, ended);
      if (written.kind === 'written') return 'admitted';
      if (written.old === undefined) {
        if (limit < 1) return 'too_many';
        const made = await this.#make(owner, connectionId, now);
        if (made.kind === 'written') return 'admitted';
        continue;
      }
      const { open } = socketsItem.parse(written.old);
      // Our own: the SDK sent it twice, because the answer to the first was lost.
      if (connectionId in open) return 'admitted';
      ended = Object.entries(open).flatMap(([id, since]) => (since + longestSocketMs <= now ? [id] : []));
      if (Object.keys(open).length - ended.length >= limit) return 'too_many';
    }
    throw new Error('The sockets of an owner changed too often for one to be admitted.');
  }

  async leave(owner: string, connectionId: string): Promise<void> {
    const expression = new Expression();
    const socket = `${expression.name('open')}.${expression.name(connectionId)}`;
    await updateIf(this.#client, {
      TableName: this.#table,
      Key: keyItem(socketsKey(owner)),
      ConditionExpression: `attribute_exists(${socket})`,
      UpdateExpression: updateText({ remove: [socket] }),
      ...expression.placeholders(),
    });
  }

  #add(owner: string, connectionId: string, now: number, limit: number, ended: readonly string[]): Promise<Written> {
    const expression = new Expression();
    const open = expression.name('open');
    const socket = (id: string) => `${open}.${expression.name(id)}`;
    return updateIf(this.#client, {
      TableName: this.#table,
      Key: keyItem(socketsKey(owner)),
      ConditionExpression: [
        `size(${open}) < ${expression.value(limit + ended.length)}`,
        // Whoever took one of these first, took its place too.
        ...ended.map((id) => `attribute_exists(${socket(id)})`),
      ].join(' AND '),
      UpdateExpression: updateText({
        set: [
          `${socket(connectionId)} = ${expression.value(now)}`,
          `${expression.name('ttl')} = ${expression.value(ttlOf(now))}`,
        ],
        remove: ended.map(socket),
      }),
      ...expression.placeholders(),
    });
  }

  #make(owner: string, connectionId: string, now: number): Promise<Written> {
    const item: PlainItem = { ...socketsKey(owner), open: { [connectionId]: now }, ttl: ttlOf(now) };
    return putIf(this.#client, {
      TableName: this.#table,
      Item: marshall(item),
      ConditionExpression: 'attribute_not_exists(pk)',
    });
  }
}

function socketsKey(owner: string): Key {
  return { pk: `owner#${owner}`, sk: 'sockets' };
}

/** By then even the youngest has ended. */
function ttlOf(now: number): number {
  return Math.ceil((now + longestSocketMs) / 1000);
}
