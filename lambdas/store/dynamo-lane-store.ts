import { GetItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import type { HeldUnit, Lane } from '../domain/lane.ts';
import type { LaneChange, LaneHeld, LaneStore } from '../domain/ports.ts';
import { probeEveryMs } from '../domain/timing.ts';
import { plain, putIf, updateIf, type Written } from './conditional-write.ts';
import { Expression, updateText } from './expression.ts';
import { keyItem } from './item.ts';
import { laneKey, laneOf, newLane } from './lane-item.ts';

/** What one update compares and sets, each `attribute = value` or a text of its own. */
type Terms = (expression: Expression) => {
  readonly conditions: readonly string[];
  readonly set?: Readonly<Record<string, unknown>>;
  readonly setText?: readonly string[];
  readonly remove?: readonly string[];
};

/** What a write must know of the lane to be one update: it is refused where that is not so. */
interface Supposed {
  readonly state: 'open' | 'tripped';
  readonly movesVirtualTime: boolean;
}

/** The lanes in the one table, one item each. */
export class DynamoLaneStore implements LaneStore {
  readonly #client: DynamoDBClient;
  readonly #table: string;
  readonly #caps: Readonly<Record<string, number>>;

  /** `caps`: of the deployment, by lane; what a lane begins with. */
  constructor(client: DynamoDBClient, tableName: string, caps: Readonly<Record<string, number>>) {
    this.#client = client;
    this.#table = tableName;
    this.#caps = caps;
  }

  async read(name: string): Promise<Lane> {
    return (await this.#get(name, true)) ?? (await this.#make(name));
  }

  async glance(name: string): Promise<Lane> {
    return (await this.#get(name, false)) ?? newLane(name, this.#capOf(name));
  }

  async takeOverCap(read: Lane): Promise<Lane> {
    const cap = this.#capOf(read.lane);
    if (read.deployedCap === cap) return read;
    const written = await this.#update(read.lane, (expression) => {
      const stored = expression.name('deployedCap');
      return {
        conditions: [`(attribute_not_exists(${stored}) OR ${stored} <> ${expression.value(cap)})`],
        set: { cap, deployedCap: cap },
      };
    });
    return laneIn(written);
  }

  /**
   * The lane is supposed to be open, and the rank to be ahead of its virtual time; where that is not so, the refusal
   * brings the lane, which decides or names the right supposition. A second supposition can only be wrong again if the
   * lane changed in between, so that the third is rare.
   */
  async hold(name: string, token: string, unit: HeldUnit, rank: number): Promise<LaneHeld> {
    let supposed: Supposed = { state: 'open', movesVirtualTime: true };
    for (let tries = 0; tries < 8; tries += 1) {
      const written = await this.#update(name, holdTerms(token, unit, rank, supposed));
      const lane = laneIn(written);
      const held = { kind: 'held', probing: lane.state === 'tripped', since: lane.since } as const;
      // Our own token in a refusal: the SDK sent it twice, because the answer to the first was lost.
      if (written.kind === 'written' || token in lane.held) return held;
      if (lane.state === 'paused') return { kind: 'closed', state: lane.state };
      if (lane.notBefore > unit.acquiredAt) return { kind: 'not_yet', notBefore: lane.notBefore };
      if (Object.keys(lane.held).length >= lane.cap) return { kind: 'full' };
      supposed = { state: lane.state, movesVirtualTime: rank > lane.virtualTime };
    }
    throw new Error(`Lane ${name} changed too often to be held.`);
  }

  async free(name: string, token: string): Promise<'freed' | 'absent'> {
    const freed = await this.#update(name, (expression) => {
      const held = `${expression.name('held')}.${expression.name(token)}`;
      return { conditions: [`attribute_exists(${held})`], remove: [held] };
    });
    return freed.kind === 'written' ? 'freed' : 'absent';
  }

  async backOff(name: string, notBefore: number): Promise<void> {
    await this.#update(name, (expression) => ({
      conditions: [`${expression.name('notBefore')} < ${expression.value(notBefore)}`],
      set: { notBefore },
    }));
  }

  async trip(
    name: string,
    since: number,
    { reason, by, at }: { reason: string; by: string; at: number },
  ): Promise<'tripped' | 'moved_on'> {
    const probeAt = at + probeEveryMs;
    const entered = { state: 'tripped', reason, by, since: nextStay(since, at) } as const;
    const attempt = (keepsNotBefore: boolean) =>
      this.#update(name, (expression) => ({
        conditions: [
          ...stayConditions(expression, 'open', since),
          `${expression.name('notBefore')} ${keepsNotBefore ? '>' : '<='} ${expression.value(probeAt)}`,
        ],
        set: { ...entered, ...(keepsNotBefore ? {} : { notBefore: probeAt }) },
      }));
    let written = await attempt(false);
    if (written.kind === 'refused' && laneIn(written).notBefore > probeAt) written = await attempt(true);
    return written.kind === 'written' || isAsEntered(laneIn(written), entered) ? 'tripped' : 'moved_on';
  }

  /** Two steps: the stay that is named by `since` never changes its state, so that what was read of it stays true. */
  async change(
    name: string,
    since: number,
    change: LaneChange,
  ): Promise<{ kind: 'changed'; lane: Lane } | { kind: 'moved_on' }> {
    const read = await this.read(name);
    if (read.since !== since) return { kind: 'moved_on' };
    const { cap = read.cap, state = read.state, by, reason, at } = change;
    const stays = state === read.state;
    const entered = { state, by, reason, since: stays ? since : nextStay(since, at) };
    const written = await this.#update(name, (expression) => ({
      conditions: stayConditions(expression, read.state, since),
      set: {
        ...entered,
        ...(change.cap === undefined ? {} : { cap }),
        ...(stays ? {} : timesOfEntry(read, entered, at)),
      },
    }));
    const lane = laneIn(written);
    if (written.kind === 'written' || (isAsEntered(lane, entered) && lane.cap === cap))
      return { kind: 'changed', lane };
    return { kind: 'moved_on' };
  }

  #capOf(name: string): number {
    const cap = this.#caps[name];
    if (cap === undefined) throw new Error(`This deployment has no lane ${name}.`);
    return cap;
  }

  async #get(name: string, ConsistentRead: boolean): Promise<Lane | undefined> {
    const { Item } = await this.#client.send(
      new GetItemCommand({ TableName: this.#table, Key: keyItem(laneKey(name)), ConsistentRead }),
    );
    return Item === undefined ? undefined : laneOf(plain(Item));
  }

  async #make(name: string): Promise<Lane> {
    const lane = newLane(name, this.#capOf(name));
    const made = await putIf(this.#client, {
      TableName: this.#table,
      Item: marshall({ ...laneKey(name), ...lane }),
      ConditionExpression: 'attribute_not_exists(pk)',
    });
    return made.kind === 'written' ? lane : laneIn(made);
  }

  /** A lane that isn't there yet is made on the way: it is so once in its life. */
  async #update(name: string, termsOf: Terms): Promise<Written> {
    const send = () => {
      const expression = new Expression();
      const { conditions, set = {}, setText = [], remove = [] } = termsOf(expression);
      const assigned = Object.entries(set).map(
        ([attribute, value]) => `${expression.name(attribute)} = ${expression.value(value)}`,
      );
      return updateIf(this.#client, {
        TableName: this.#table,
        Key: keyItem(laneKey(name)),
        ConditionExpression: conditions.join(' AND '),
        UpdateExpression: updateText({ set: [...assigned, ...setText], remove }),
        ...expression.placeholders(),
        ReturnValues: 'ALL_NEW',
      });
    };
    const written = await send();
    if (written.kind === 'written' || written.old !== undefined) return written;
    await this.#make(name);
    return send();
  }
}

function holdTerms(token: string, unit: HeldUnit, rank: number, supposed: Supposed): Terms {
  return (expression) => {
    const held = expression.name('held');
    const isProbe = supposed.state === 'tripped';
    return {
      conditions: [
        `${expression.name('state')} = ${expression.value(supposed.state)}`,
        `${expression.name('notBefore')} <= ${expression.value(unit.acquiredAt)}`,
        `size(${held}) < ${expression.name('cap')}`,
        ...(supposed.movesVirtualTime ? [`${expression.name('virtualTime')} <= ${expression.value(rank)}`] : []),
      ],
      set: {
        ...(supposed.movesVirtualTime ? { virtualTime: rank } : {}),
        ...(isProbe ? { notBefore: unit.acquiredAt + probeEveryMs } : {}),
      },
      setText: [`${held}.${expression.name(token)} = ${expression.value(unit)}`],
    };
  };
}

function stayConditions(expression: Expression, state: Lane['state'], since: number): readonly string[] {
  return [
    `${expression.name('state')} = ${expression.value(state)}`,
    `${expression.name('since')} = ${expression.value(since)}`,
  ];
}

/** A stay is named by its beginning, so two never begin at one moment. */
function nextStay(since: number, at: number): number {
  return Math.max(at, since + 1);
}

function timesOfEntry(
  left: Lane,
  entered: Pick<Lane, 'state' | 'since'>,
  at: number,
): Partial<Pick<Lane, 'closedMs' | 'notBefore'>> {
  return {
    ...(left.state === 'open' ? {} : { closedMs: left.closedMs + entered.since - left.since }),
    // While it is tripped, this is the timer of its probes.
    ...(left.state === 'tripped' ? { notBefore: at } : {}),
    ...(entered.state === 'tripped' ? { notBefore: at + probeEveryMs } : {}),
  };
}

/** A refusal by exactly what was written: the SDK sent it twice. */
function isAsEntered(lane: Lane, entered: Pick<Lane, 'state' | 'by' | 'reason' | 'since'>): boolean {
  return (
    lane.state === entered.state &&
    lane.since === entered.since &&
    lane.by === entered.by &&
    lane.reason === entered.reason
  );
}

function laneIn(written: Written): Lane {
  const item = written.kind === 'written' ? written.item : written.old;
  if (item === undefined) throw new Error('A lane went missing: nothing deletes lanes.');
  return laneOf(item);
}
