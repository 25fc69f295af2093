import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { probeEveryMs } from '../../lambdas/domain/timing.ts';
import type { LaneStore } from '../../lambdas/domain/ports.ts';
import { DynamoLaneStore } from '../../lambdas/store/dynamo-lane-store.ts';
import { MemoryDynamo } from '../fakes/memory-dynamo.ts';
import { MemoryLaneStore } from '../fakes/memory-lane-store.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';
import { noon } from '../fixtures/stored-job.ts';

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

const caps = { default: 2, wide: 100 };
const unit = (acquiredAt = noon) => ({ jobId: 'job_a', attempt: 1, acquiredAt });
const byAnn = (at: number) => ({ by: 'ann', reason: 'a reason', at });

describe.each<[string, () => Promise<LaneStore>]>([
  ['MemoryLaneStore', async () => new MemoryLaneStore(caps)],
  ['DynamoLaneStore', async () => new DynamoLaneStore(dynamo.client, await dynamo.createTable(), caps)],
  ['DynamoLaneStore over MemoryDynamo', async () => new DynamoLaneStore(new MemoryDynamo().client, 'memory', caps)],
])('%s', (_, create) => {
  let lanes: LaneStore;
  beforeEach(async () => {
    lanes = await create();
  });

  describe('a lane that nobody used yet', () => {
    it('is open, with the cap of the deployment, whatever comes first', async () => {
      const fresh = { lane: 'default', cap: 2, state: 'open', held: {}, virtualTime: 0, notBefore: 0, closedMs: 0 };
      expect(await lanes.glance('default')).toMatchObject(fresh);
      expect(await lanes.read('default')).toMatchObject(fresh);
      expect(await lanes.free('wide', 'hold-1')).toBe('absent');
      await expect(lanes.read('nowhere')).rejects.toThrow('no lane nowhere');
    });

    it('can be held at once', async () => {
      expect(await lanes.hold('default', 'hold-1', unit(), 4)).toMatchObject({ kind: 'held', probing: false });
      expect(await lanes.read('default')).toMatchObject({ held: { 'hold-1': unit() }, virtualTime: 4 });
    });

    it('can be held back at once', async () => {
      await lanes.backOff('default', noon);
      expect(await lanes.read('default')).toMatchObject({ notBefore: noon });
    });
  });

  describe('hold', () => {
    it('gives exactly as many units as the cap has, of many at once', async () => {
      const tokens = Array.from({ length: 30 }, (__, index) => `hold-${index}`);
      const outcomes = await Promise.all(
        tokens.map((token, index) => lanes.hold('default', token, unit(), 30 - index)),
      );
      expect(outcomes.filter(({ kind }) => kind === 'held')).toHaveLength(2);
      expect(outcomes.filter(({ kind }) => kind === 'full')).toHaveLength(28);
      expect(Object.keys((await lanes.read('default')).held)).toHaveLength(2);
    });

    it('is a success again with its own token, in a full or closed lane too', async () => {
      await lanes.hold('default', 'hold-1', unit(), 1);
      await lanes.hold('default', 'hold-2', unit(), 2);
      const { since } = await lanes.read('default');
      const held = { kind: 'held', probing: false, since };
      expect(await lanes.hold('default', 'hold-1', unit(), 1)).toEqual(held);
      await lanes.change('default', since, { state: 'paused', ...byAnn(noon) });
      expect(await lanes.hold('default', 'hold-1', unit(), 1)).toMatchObject({ kind: 'held' });
      expect(Object.keys((await lanes.read('default')).held)).toHaveLength(2);
    });

    it('moves the virtual time up, and never down', async () => {
      await lanes.hold('wide', 'hold-1', unit(), 9);
      await lanes.hold('wide', 'hold-2', unit(), 4);
      await lanes.hold('wide', 'hold-3', unit(), 9);
      expect(await lanes.read('wide')).toMatchObject({ virtualTime: 9 });
      expect(Object.keys((await lanes.read('wide')).held)).toHaveLength(3);
      await lanes.hold('wide', 'hold-4', unit(), 10);
      expect(await lanes.read('wide')).toMatchObject({ virtualTime: 10 });
    });

    it('says what stands against it', async () => {
      await lanes.backOff('default', noon + 5);
      expect(await lanes.hold('default', 'hold-1', unit(), 1)).toEqual({ kind: 'not_yet', notBefore: noon + 5 });
      expect(await lanes.hold('default', 'hold-1', unit(noon + 5), 1)).toMatchObject({ kind: 'held' });
      const { since } = await lanes.read('default');
      await lanes.change('default', since, { state: 'paused', ...byAnn(noon) });
      expect(await lanes.hold('default', 'hold-2', unit(noon + 5), 1)).toEqual({ kind: 'closed', state: 'paused' });
    });

    it('obeys a cap that was lowered below what is held', async () => {
      await lanes.hold('default', 'hold-1', unit(), 1);
      await lanes.hold('default', 'hold-2', unit(), 1);
      const { since } = await lanes.read('default');
      await lanes.change('default', since, { cap: 1, ...byAnn(noon) });
      expect(await lanes.free('default', 'hold-1')).toBe('freed');
      expect(await lanes.hold('default', 'hold-3', unit(), 1)).toEqual({ kind: 'full' });
      await lanes.change('default', since, { cap: 0, ...byAnn(noon) });
      await lanes.free('default', 'hold-2');
      expect(await lanes.hold('default', 'hold-3', unit(), 1)).toEqual({ kind: 'full' });
    });
  });

  describe('free', () => {
    it('takes its own token only, once', async () => {
      await lanes.hold('default', 'hold-1', unit(), 1);
      await lanes.hold('default', 'hold-2', unit(), 1);
      expect(await lanes.free('default', 'hold-1')).toBe('freed');
      expect(await lanes.free('default', 'hold-1')).toBe('absent');
      expect((await lanes.read('default')).held).toEqual({ 'hold-2': unit() });
    });
  });

  it('moves `notBefore` up, never down', async () => {
    await lanes.backOff('default', noon);
    await lanes.backOff('default', noon - 1);
    expect(await lanes.read('default')).toMatchObject({ notBefore: noon });
  });

  describe('trip', () => {
    it('closes exactly the stay that was read', async () => {
      const { since } = await lanes.read('default');
      const tripped = await Promise.all(
        ['one', 'two', 'three'].map((by) => lanes.trip('default', since, { ...byAnn(noon), by })),
      );
      expect(tripped.toSorted()).toEqual(['moved_on', 'moved_on', 'tripped']);
      const lane = await lanes.read('default');
      expect(lane).toMatchObject({ state: 'tripped', since: noon, notBefore: noon + probeEveryMs });
      await lanes.change('default', noon, { state: 'open', ...byAnn(noon + 9) });
      expect(await lanes.trip('default', since, byAnn(noon + 10))).toBe('moved_on');
      expect(await lanes.trip('default', noon, byAnn(noon + 10))).toBe('moved_on');
    });

    it('keeps a longer wait', async () => {
      const { since } = await lanes.read('default');
      await lanes.backOff('default', noon + 10 * probeEveryMs);
      expect(await lanes.trip('default', since, byAnn(noon))).toBe('tripped');
      expect(await lanes.read('default')).toMatchObject({ notBefore: noon + 10 * probeEveryMs });
    });

    it('lets one probe in per interval, of many at once', async () => {
      const { since } = await lanes.read('wide');
      await lanes.trip('wide', since, byAnn(noon));
      const later = unit(noon + probeEveryMs);
      expect(await lanes.hold('wide', 'hold-0', unit(noon + probeEveryMs - 1), 1)).toMatchObject({ kind: 'not_yet' });
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, (__, index) => lanes.hold('wide', `hold-${index}`, later, index)),
      );
      expect(outcomes.filter(({ kind }) => kind === 'held')).toEqual([{ kind: 'held', probing: true, since: noon }]);
      const notBefore = noon + 2 * probeEveryMs;
      expect(outcomes.filter(({ kind }) => kind === 'not_yet')).toHaveLength(9);
      expect(await lanes.read('wide')).toMatchObject({ notBefore });
    });
  });

  describe('change', () => {
    it('changes the stay that was read, and says what became of it', async () => {
      const { since } = await lanes.read('default');
      const capped = await lanes.change('default', since, { cap: 5, ...byAnn(noon) });
      expect(capped).toMatchObject({ kind: 'changed', lane: { cap: 5, state: 'open', since, by: 'ann' } });
      const paused = await lanes.change('default', since, { state: 'paused', ...byAnn(noon + 1) });
      expect(paused).toMatchObject({
        kind: 'changed',
        lane: { cap: 5, state: 'paused', since: noon + 1, closedMs: 0 },
      });
      expect(await lanes.change('default', since, { cap: 9, ...byAnn(noon + 2) })).toEqual({ kind: 'moved_on' });
      const again = await lanes.change('default', noon + 1, { state: 'paused', ...byAnn(noon + 3) });
      expect(again).toMatchObject({ kind: 'changed', lane: { since: noon + 1 } });
    });

    it('adds up how long the lane was closed, of whatever kind', async () => {
      const { since } = await lanes.read('default');
      await lanes.change('default', since, { state: 'paused', ...byAnn(noon) });
      await lanes.change('default', noon, { state: 'tripped', ...byAnn(noon + 100) });
      await lanes.change('default', noon + 100, { state: 'open', ...byAnn(noon + 250) });
      await lanes.change('default', noon + 250, { state: 'paused', ...byAnn(noon + 1_000) });
      expect(await lanes.read('default')).toMatchObject({ closedMs: 250, state: 'paused' });
      await lanes.change('default', noon + 1_000, { state: 'open', ...byAnn(noon + 1_001) });
      expect(await lanes.read('default')).toMatchObject({ closedMs: 251, state: 'open' });
    });

    it('forgets the timer of the probes with the trip that it belonged to', async () => {
      const { since } = await lanes.read('default');
      await lanes.trip('default', since, byAnn(noon));
      await lanes.change('default', noon, { state: 'open', ...byAnn(noon + 5) });
      expect(await lanes.hold('default', 'hold-1', unit(noon + 5), 1)).toMatchObject({ kind: 'held', probing: false });
    });

    it('begins no two stays at one moment', async () => {
      const { since } = await lanes.read('default');
      await lanes.change('default', since, { state: 'paused', ...byAnn(noon) });
      await lanes.change('default', noon, { state: 'open', ...byAnn(noon) });
      expect(await lanes.trip('default', noon, byAnn(noon))).toBe('moved_on');
      expect(await lanes.trip('default', noon + 1, byAnn(noon))).toBe('tripped');
    });
  });
});

/** The lanes of one table, as each deployment with other caps sees them. */
type Deploy = (caps: Readonly<Record<string, number>>) => LaneStore;

describe.each<[string, () => Promise<Deploy>]>([
  [
    'MemoryLaneStore',
    async () => {
      let before = new MemoryLaneStore({ default: 2 });
      return (deployed) => {
        const next = new MemoryLaneStore(deployed);
        next.put(before.get('default'));
        return (before = next);
      };
    },
  ],
  [
    'DynamoLaneStore',
    async () => {
      const table = await dynamo.createTable();
      return (deployed) => new DynamoLaneStore(dynamo.client, table, deployed);
    },
  ],
])('%s: a cap that a deployment changes', (_, create) => {
  it('is taken over, and what a person changes after that holds until the next one', async () => {
    const deploy = await create();
    const first = deploy({ default: 2 });
    await first.hold('default', 'hold-1', unit(), 4);
    const changed = await first.change('default', 0, { cap: 5, ...byAnn(noon) });
    expect(changed).toMatchObject({ kind: 'changed', lane: { cap: 5 } });
    // Not by a deployment that has the same cap as the one before.
    const same = deploy({ default: 2 });
    expect(await same.takeOverCap(await same.read('default'))).toMatchObject({ cap: 5 });

    const lower = deploy({ default: 1 });
    const taken = await lower.takeOverCap(await lower.read('default'));
    expect(taken).toMatchObject({ cap: 1, deployedCap: 1, state: 'open', held: { 'hold-1': unit() }, virtualTime: 4 });
    expect(await lower.read('default')).toEqual(taken);
    await lower.change('default', taken.since, { cap: 3, ...byAnn(noon) });
    expect(await lower.takeOverCap(await lower.read('default'))).toMatchObject({ cap: 3 });
  });

  it('is taken over once, though two ticks read the lane before', async () => {
    const deploy = await create();
    await deploy({ default: 2 }).read('default');
    const lanes = deploy({ default: 4 });
    const read = await lanes.read('default');
    await lanes.takeOverCap(read);
    await lanes.change('default', 0, { cap: 1, ...byAnn(noon) });
    expect(await lanes.takeOverCap(read)).toMatchObject({ cap: 1 });
  });

  it('leaves a closed lane closed', async () => {
    const deploy = await create();
    await deploy({ default: 2 }).change('default', 0, { state: 'paused', ...byAnn(noon) });
    const lanes = deploy({ default: 4 });
    const paused = { cap: 4, state: 'paused', by: 'ann', since: noon };
    expect(await lanes.takeOverCap(await lanes.read('default'))).toMatchObject(paused);
  });
});
