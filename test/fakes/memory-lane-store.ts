import type { HeldUnit, Lane } from '../../lambdas/domain/lane.ts';
import type { LaneChange, LaneHeld, LaneStore } from '../../lambdas/domain/ports.ts';
import { probeEveryMs } from '../../lambdas/domain/timing.ts';
import { newLane } from '../../lambdas/store/lane-item.ts';

/** Lanes in memory, each made with the cap that the deployment gives it. */
export class MemoryLaneStore implements LaneStore {
  readonly #caps: Readonly<Record<string, number>>;
  readonly #lanes = new Map<string, Lane>();

  constructor(caps: Readonly<Record<string, number>>) {
    this.#caps = caps;
  }

  /** The lane as it is now. */
  get(lane: string): Lane {
    const stored = this.#lanes.get(lane);
    if (stored !== undefined) return stored;
    const cap = this.#caps[lane];
    if (cap === undefined) throw new Error(`This deployment has no lane ${lane}.`);
    return newLane(lane, cap);
  }

  /** Puts a lane as it is, whatever stood there. */
  put(lane: Lane): void {
    this.#lanes.set(lane.lane, lane);
  }

  /** It is as if nobody had used it yet. */
  forget(lane: string): void {
    this.#lanes.delete(lane);
  }

  async read(lane: string): Promise<Lane> {
    return this.get(lane);
  }

  async glance(lane: string): Promise<Lane> {
    return this.get(lane);
  }

  async takeOverCap({ lane: name }: Lane): Promise<Lane> {
    const lane = this.get(name);
    const cap = this.#caps[name] ?? lane.deployedCap;
    if (lane.deployedCap !== cap) this.put({ ...lane, cap, deployedCap: cap });
    return this.get(name);
  }

  async hold(name: string, token: string, unit: HeldUnit, rank: number): Promise<LaneHeld> {
    const lane = this.get(name);
    const probing = lane.state === 'tripped';
    const held = { kind: 'held', probing, since: lane.since } as const;
    if (token in lane.held) return held;
    if (lane.state === 'paused') return { kind: 'closed', state: lane.state };
    if (lane.notBefore > unit.acquiredAt) return { kind: 'not_yet', notBefore: lane.notBefore };
    if (Object.keys(lane.held).length >= lane.cap) return { kind: 'full' };
    this.put({
      ...lane,
      held: { ...lane.held, [token]: unit },
      virtualTime: Math.max(lane.virtualTime, rank),
      notBefore: probing ? unit.acquiredAt + probeEveryMs : lane.notBefore,
    });
    return held;
  }

  async free(name: string, token: string): Promise<'freed' | 'absent'> {
    const lane = this.get(name);
    if (!(token in lane.held)) return 'absent';
    const held = Object.fromEntries(Object.entries(lane.held).filter(([other]) => other !== token));
    this.put({ ...lane, held });
    return 'freed';
  }

  async backOff(name: string, notBefore: number): Promise<void> {
    const lane = this.get(name);
    this.put({ ...lane, notBefore: Math.max(lane.notBefore, notBefore) });
  }

  async trip(
    name: string,
    since: number,
    { reason, by, at }: { reason: string; by: string; at: number },
  ): Promise<'tripped' | 'moved_on'> {
    const lane = this.get(name);
    if (lane.state !== 'open' || lane.since !== since) return 'moved_on';
    const notBefore = Math.max(lane.notBefore, at + probeEveryMs);
    this.put({ ...lane, state: 'tripped', reason, by, since: nextStay(lane, at), notBefore });
    return 'tripped';
  }

  async change(
    name: string,
    since: number,
    { cap, state, by, reason, at }: LaneChange,
  ): Promise<{ kind: 'changed'; lane: Lane } | { kind: 'moved_on' }> {
    const lane = this.get(name);
    if (lane.since !== since) return { kind: 'moved_on' };
    const changed = { ...lane, cap: cap ?? lane.cap, by, reason };
    this.put(state === undefined || state === lane.state ? changed : { ...changed, ...entering(lane, state, at) });
    return { kind: 'changed', lane: this.get(name) };
  }
}

function entering(lane: Lane, state: Lane['state'], at: number): Partial<Lane> {
  const since = nextStay(lane, at);
  return {
    state,
    since,
    closedMs: lane.closedMs + (lane.state === 'open' ? 0 : since - lane.since),
    // While it was tripped, this was the timer of its probes.
    ...(lane.state === 'tripped' ? { notBefore: at } : {}),
    ...(state === 'tripped' ? { notBefore: at + probeEveryMs } : {}),
  };
}

/** A stay is named by its beginning, so two never begin at one moment. */
function nextStay(lane: Lane, at: number): number {
  return Math.max(at, lane.since + 1);
}
