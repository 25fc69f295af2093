import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import type { Counted, OwnerLimits, OwnerStore, UploadCounter } from '../domain/ports.ts';
import { updateIf, type PlainItem, type Written } from './conditional-write.ts';
import { Expression, updateText } from './expression.ts';
import { keyItem, type Key } from './item.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** An owner who comes back later begins at the lane's virtual time anyway. */
const keptMs = 8 * dayMs;
/** Each of the three suppositions turns once; the rest is room for a counter that its TTL takes in between. */
const mostTries = 8;

const counterItem = z.object({
  minute: z.number(),
  inMinute: z.number(),
  day: z.number(),
  inDay: z.number(),
});
const numbers = z.record(z.string(), z.unknown());

/** What DynamoDB can't choose in one update. */
interface Supposed {
  readonly sameMinute: boolean;
  readonly sameDay: boolean;
  /** The owner's last rank in this lane is at or past the virtual time. */
  readonly rankAhead: boolean;
}

interface Submit {
  readonly counter: Key;
  readonly lane: string;
  readonly virtualTime: number;
  readonly limit: number;
  readonly now: number;
}

/**
 * One counter item per owner (and one for their uploads), moved by one update: nothing is read first, so simultaneous submits of one owner don't
 * refuse each other. The update supposes which windows still run; a wrong supposition is refused, and the refusal brings
 * the counter, which names the right one. Windows and ranks only move on, so a supposition can't be wrong for long.
 */
export class DynamoOwnerStore implements OwnerStore, UploadCounter {
  readonly #client: DynamoDBClient;
  readonly #table: string;

  constructor(client: DynamoDBClient, tableName: string) {
    this.#client = client;
    this.#table = tableName;
  }

  count(owner: string, lane: string, virtualTime: number, limits: OwnerLimits, now: number): Promise<Counted> {
    return this.#count({ counter: counterKey(owner), lane, virtualTime, limit: limits.submitsPerMinute, now });
  }

  /** Counted as a submit to a lane of its own would be: the rank that comes of it means nothing. */
  countUpload(owner: string, limits: OwnerLimits, now: number): Promise<Counted> {
    const counter = uploadCounterKey(owner);
    return this.#count({ counter, lane: 'uploads', virtualTime: 0, limit: limits.submitsPerMinute, now });
  }

  async #count(submit: Submit): Promise<Counted> {
    const { lane, virtualTime, now } = submit;
    if (submit.limit < 1) return limitedUntil(windowOf(now, minuteMs) + 1, now);
    // A burst is what contends, so its case goes first.
    let supposed: Supposed = { sameMinute: true, sameDay: true, rankAhead: true };
    for (let tries = 0; tries < mostTries; tries += 1) {
      const written = await this.#update(submit, supposed);
      if (written.kind === 'written') return countedIn(written.item, lane);
      const counter = written.old === undefined ? undefined : counterItem.parse(written.old);
      const isSpent =
        counter !== undefined && isRunning(counter.minute, now, minuteMs) && counter.inMinute >= submit.limit;
      if (isSpent) return limitedUntil(counter.minute + 1, now);
      supposed = {
        sameMinute: counter !== undefined && isRunning(counter.minute, now, minuteMs),
        sameDay: counter !== undefined && isRunning(counter.day, now, dayMs),
        rankAhead: (rankIn(written.old, lane) ?? -1) >= virtualTime,
      };
    }
    throw new Error('The counter of an owner changed too often to be moved.');
  }

  #update({ counter, lane, virtualTime, limit, now }: Submit, supposed: Supposed): Promise<Written> {
    const expression = new Expression();
    const rank = expression.name(rankName(lane));
    const one = expression.value(1);
    const minute = windowTerms(expression, 'minute', 'inMinute', windowOf(now, minuteMs), one, supposed.sameMinute);
    const day = windowTerms(expression, 'day', 'inDay', windowOf(now, dayMs), one, supposed.sameDay);
    const time = expression.value(virtualTime);
    const room = supposed.sameMinute ? [`${expression.name('inMinute')} < ${expression.value(limit)}`] : [];
    const rankCondition = supposed.rankAhead
      ? `${rank} >= ${time}`
      : `(attribute_not_exists(${rank}) OR ${rank} < ${time})`;
    return updateIf(this.#client, {
      TableName: this.#table,
      Key: keyItem(counter),
      ConditionExpression: [minute.condition, day.condition, rankCondition, ...room].join(' AND '),
      UpdateExpression: updateText({
        set: [
          ...minute.set,
          ...day.set,
          supposed.rankAhead ? `${rank} = ${rank} + ${one}` : `${rank} = ${expression.value(virtualTime + 1)}`,
          `${expression.name('ttl')} = ${expression.value(Math.ceil((now + keptMs) / 1000))}`,
        ],
      }),
      ...expression.placeholders(),
      ReturnValues: 'ALL_NEW',
    });
  }
}

/** A window that a faster clock began already is the present one, too. */
function windowTerms(
  expression: Expression,
  windowName: string,
  countName: string,
  window: number,
  one: string,
  isSame: boolean,
): { condition: string; set: readonly string[] } {
  const stored = expression.name(windowName);
  const count = expression.name(countName);
  const present = expression.value(window);
  return isSame
    ? { condition: `${stored} >= ${present}`, set: [`${count} = ${count} + ${one}`] }
    : {
        condition: `(attribute_not_exists(${stored}) OR ${stored} < ${present})`,
        set: [`${stored} = ${present}`, `${count} = ${one}`],
      };
}

function windowOf(now: number, lengthMs: number): number {
  return Math.floor(now / lengthMs);
}

function isRunning(window: number, now: number, lengthMs: number): boolean {
  return window >= windowOf(now, lengthMs);
}

function limitedUntil(minute: number, now: number): Counted {
  return { kind: 'limited', retryAfterMs: minute * minuteMs - now };
}

function countedIn(item: PlainItem | undefined, lane: string): Counted {
  const rank = rankIn(item, lane);
  if (rank === undefined) throw new Error('DynamoDB did not return the counter that it moved.');
  return { kind: 'counted', rank, submitsToday: counterItem.parse(item).inDay };
}

/** An attribute per lane, not a map: a map would have to be made before its first entry. */
function rankName(lane: string): string {
  return `rank#${lane}`;
}

function rankIn(item: PlainItem | undefined, lane: string): number | undefined {
  return item === undefined ? undefined : z.number().optional().parse(numbers.parse(item)[rankName(lane)]);
}

function counterKey(owner: string): Key {
  return { pk: `owner#${owner}`, sk: 'counter' };
}

function uploadCounterKey(owner: string): Key {
  return { pk: `owner#${owner}`, sk: 'upload-counter' };
}
