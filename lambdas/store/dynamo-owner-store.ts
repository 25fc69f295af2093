import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import type { Counted, CountedSubmit, Limits, OpenJob, OpenJobs, OwnerStore, UploadCounter } from '../domain/ports.ts';
import { updateIf, type PlainItem, type Written } from './conditional-write.ts';
import { Expression, updateText } from './expression.ts';
import { keyItem, type Key } from './item.ts';

const minuteMs = 60_000;
/** An owner who comes back later begins at the lane's virtual time anyway. */
const keptMs = 8 * 86_400_000;
/** Each supposition turns once; the rest is room for a counter that its TTL takes in between. */
const mostTries = 8;

const counterItem = z.object({
  minute: z.number(),
  inMinute: z.number(),
  /** When each was counted, by job id. Absent in counters that the version before made, and in those of uploads. */
  open: z.record(z.string(), z.number()).default({}),
  revision: z.number().default(0),
});
type Counter = z.infer<typeof counterItem>;
const numbers = z.record(z.string(), z.unknown());

/** What DynamoDB can't choose in one update. */
interface Supposed {
  readonly sameMinute: boolean;
  /** The owner's last rank in this lane is at or past the virtual time. */
  readonly rankAhead: boolean;
  readonly opening: 'none' | 'first' | 'one more' | OpenJobs;
}

interface Counting {
  readonly key: Key;
  readonly perMinute: number;
  readonly now: number;
  /** Of what gets a rank: the lane, and where it stands. */
  readonly ranks: { readonly lane: string; readonly virtualTime: number } | undefined;
  /** Of what opens a job: which, and how many there may be. */
  readonly opens: { readonly jobId: string; readonly most: number } | undefined;
}

type Limited = Extract<Counted, { kind: 'limited' }>;
type Moved = { readonly kind: 'moved'; readonly item: PlainItem | undefined } | Exclude<Counted, { kind: 'counted' }>;

/**
 * One counter item per owner (and one for their uploads), moved by one update: nothing is read first, so simultaneous
 * submits of one owner don't refuse each other. The update supposes which window still runs; a wrong supposition is
 * refused, and the refusal brings the counter, which names the right one. Windows and ranks only move on, so a supposition
 * can't be wrong for long.
 */
export class DynamoOwnerStore implements OwnerStore, UploadCounter {
  readonly #client: DynamoDBClient;
  readonly #table: string;

  constructor(client: DynamoDBClient, tableName: string) {
    this.#client = client;
    this.#table = tableName;
  }

  async count(submit: CountedSubmit, limits: Limits, left?: OpenJobs): Promise<Counted> {
    const { owner, jobId, lane, virtualTime, now } = submit;
    const opens = { jobId, most: limits.activeJobs };
    const ranks = { lane, virtualTime };
    const moved = await this.#move(
      { key: counterKey(owner), perMinute: limits.submitsPerMinute, now, ranks, opens },
      left !== undefined && hasRoom(left.jobs, opens) ? left : 'one more',
    );
    return moved.kind === 'moved' ? { kind: 'counted', rank: newRankIn(moved.item, lane) } : moved;
  }

  async countRefused(owner: string, limits: Pick<Limits, 'submitsPerMinute'>, now: number): Promise<void> {
    await this.#countInMinute(counterKey(owner), limits.submitsPerMinute, now);
  }

  countUpload(owner: string, limits: Pick<Limits, 'submitsPerMinute'>, now: number) {
    return this.#countInMinute(uploadCounterKey(owner), limits.submitsPerMinute, now);
  }

  async #countInMinute(key: Key, perMinute: number, now: number): Promise<{ readonly kind: 'counted' } | Limited> {
    const moved = await this.#move({ key, perMinute, now, ranks: undefined, opens: undefined }, 'none');
    if (moved.kind === 'full') throw new Error('What opens no job found no room for one.');
    return moved.kind === 'moved' ? { kind: 'counted' } : moved;
  }

  async #move(counting: Counting, opening: Supposed['opening']): Promise<Moved> {
    const { ranks, perMinute, now } = counting;
    if (perMinute < 1) return limitedUntil(windowOf(now) + 1, now);
    // A burst is what contends, so its case goes first.
    let supposed: Supposed = { sameMinute: true, rankAhead: true, opening };
    for (let tries = 0; tries < mostTries; tries += 1) {
      const written = await this.#update(counting, supposed);
      if (written.kind === 'written') return { kind: 'moved', item: written.item };
      const counter = written.old === undefined ? undefined : counterItem.parse(written.old);
      const sameMinute = counter !== undefined && counter.minute >= windowOf(now);
      if (sameMinute && counter.inMinute >= perMinute) return limitedUntil(counter.minute + 1, now);
      const next = openingIn(counter, counting, supposed.opening);
      if (next === 'full') return { kind: 'full', open: openJobsOf(counter) };
      const rankAhead = ranks !== undefined && (rankIn(written.old, ranks.lane) ?? -1) >= ranks.virtualTime;
      supposed = { sameMinute, rankAhead, opening: next };
    }
    throw new Error('The counter of an owner changed too often to be moved.');
  }

  #update(counting: Counting, supposed: Supposed): Promise<Written> {
    const { key, perMinute, now } = counting;
    const expression = new Expression();
    const one = expression.value(1);
    const minute = minuteTerms(expression, windowOf(now), one, supposed.sameMinute);
    const room = supposed.sameMinute ? [`${expression.name('inMinute')} < ${expression.value(perMinute)}`] : [];
    const opening = openingTerms(expression, counting, supposed.opening);
    const rank = rankTerms(expression, counting, one, supposed.rankAhead);
    return updateIf(this.#client, {
      TableName: this.#table,
      Key: keyItem(key),
      ConditionExpression: [minute.condition, ...rank.conditions, ...room, ...opening.conditions].join(' AND '),
      UpdateExpression: updateText({
        set: [
          ...minute.set,
          ...opening.set,
          ...readByVersionBefore(expression),
          ...rank.set,
          `${expression.name('ttl')} = ${expression.value(Math.ceil((now + keptMs) / 1000))}`,
        ],
      }),
      ...expression.placeholders(),
      ReturnValues: 'ALL_NEW',
    });
  }
}

interface Terms {
  readonly conditions: readonly string[];
  readonly set: readonly string[];
}

/** How the counter that stood in the way may be moved, as far as its unfinished jobs go. */
function openingIn(
  counter: Counter | undefined,
  { opens }: Counting,
  tried: Supposed['opening'],
): Supposed['opening'] | 'full' {
  if (opens === undefined) return 'none';
  if (counter === undefined || counter.revision === 0) return 'first';
  const isReplaced = typeof tried === 'object' && tried.revision === counter.revision;
  if (isReplaced) return tried;
  return hasRoom(openJobsOf(counter).jobs, opens) ? 'one more' : 'full';
}

function hasRoom(open: readonly OpenJob[], { jobId, most }: NonNullable<Counting['opens']>): boolean {
  return open.length < most || open.some(({ id }) => id === jobId);
}

function openingTerms(expression: Expression, { opens, now }: Counting, opening: Supposed['opening']): Terms {
  if (opens === undefined || opening === 'none') return { conditions: [], set: [] };
  const open = expression.name('open');
  const revision = expression.name('revision');
  if (opening === 'first') {
    return {
      conditions: [`attribute_not_exists(${revision})`],
      set: [`${open} = ${expression.value({ [opens.jobId]: now })}`, `${revision} = ${expression.value(1)}`],
    };
  }
  const raise = `${revision} = ${revision} + ${expression.value(1)}`;
  if (opening === 'one more') {
    const job = `${open}.${expression.name(opens.jobId)}`;
    return {
      conditions: [`(attribute_exists(${job}) OR size(${open}) < ${expression.value(opens.most)})`],
      set: [`${job} = ${expression.value(now)}`, raise],
    };
  }
  const left = Object.fromEntries(opening.jobs.map(({ id, since }) => [id, since]));
  return {
    conditions: [`${revision} = ${expression.value(opening.revision)}`],
    set: [`${open} = ${expression.value({ ...left, [opens.jobId]: now })}`, raise],
  };
}

function rankTerms(expression: Expression, { ranks }: Counting, one: string, isAhead: boolean): Terms {
  if (ranks === undefined) return { conditions: [], set: [] };
  const rank = expression.name(rankName(ranks.lane));
  const time = expression.value(ranks.virtualTime);
  return isAhead
    ? { conditions: [`${rank} >= ${time}`], set: [`${rank} = ${rank} + ${one}`] }
    : {
        conditions: [`(attribute_not_exists(${rank}) OR ${rank} < ${time})`],
        set: [`${rank} = ${expression.value(ranks.virtualTime + 1)}`],
      };
}

function openJobsOf(counter: Counter | undefined): OpenJobs {
  const jobs = Object.entries(counter?.open ?? {}).map(([id, since]) => ({ id, since }));
  return { jobs, revision: counter?.revision ?? 0 };
}

/** Beside this version, while it is deployed: it counted the submits of a day, and can't read a counter without them. */
function readByVersionBefore(expression: Expression): readonly string[] {
  const none = expression.value(0);
  return ['day', 'inDay'].map((name) => `${expression.name(name)} = if_not_exists(${expression.name(name)}, ${none})`);
}

/** A minute that a faster clock began already is the present one, too. */
function minuteTerms(
  expression: Expression,
  window: number,
  one: string,
  isSame: boolean,
): { condition: string; set: readonly string[] } {
  const stored = expression.name('minute');
  const count = expression.name('inMinute');
  const present = expression.value(window);
  return isSame
    ? { condition: `${stored} >= ${present}`, set: [`${count} = ${count} + ${one}`] }
    : {
        condition: `(attribute_not_exists(${stored}) OR ${stored} < ${present})`,
        set: [`${stored} = ${present}`, `${count} = ${one}`],
      };
}

function windowOf(now: number): number {
  return Math.floor(now / minuteMs);
}

function limitedUntil(minute: number, now: number): Limited {
  return { kind: 'limited', retryAfterMs: minute * minuteMs - now };
}

function newRankIn(item: PlainItem | undefined, lane: string): number {
  const rank = rankIn(item, lane);
  if (rank === undefined) throw new Error('DynamoDB did not return the counter that it moved.');
  return rank;
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
