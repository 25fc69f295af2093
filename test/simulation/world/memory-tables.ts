import type { Job } from '../../../lambdas/domain/job.ts';
import { rowOf, type Move, type To, type Transition } from '../../../lambdas/domain/lifecycle.ts';
import type { JobStore, LaneStore, Moved } from '../../../lambdas/domain/ports.ts';
import { MemoryAuditStore } from '../../fakes/memory-audit-store.ts';
import { MemoryEvidenceStore } from '../../fakes/memory-evidence-store.ts';
import { MemoryJobIndex } from '../../fakes/memory-job-index.ts';
import { MemoryJobStore } from '../../fakes/memory-job-store.ts';
import { MemoryLaneStore } from '../../fakes/memory-lane-store.ts';
import { MemoryOwnerStore } from '../../fakes/memory-owner-store.ts';
import type { Actor } from './actor.ts';
import type { EffectKind } from './faults.ts';
import type { Simulation } from './simulation.ts';
import type { Stores, Tables } from './tables.ts';

type Through = <T>(kind: EffectKind, what: string, apply: () => Promise<T>) => Promise<T>;

/** The fakes: each call of a store is one effect. */
export class MemoryTables implements Tables {
  readonly jobs = new MemoryJobStore();
  readonly lanes: MemoryLaneStore;
  readonly index = new MemoryJobIndex(this.jobs);
  readonly #evidence = new MemoryEvidenceStore();
  readonly #audit = new MemoryAuditStore();
  readonly #owners = new MemoryOwnerStore();
  readonly #names: readonly string[];

  constructor(caps: Readonly<Record<string, number>>) {
    this.#names = Object.keys(caps);
    this.lanes = new MemoryLaneStore(caps);
    this.jobs.whenSiblingsAreErased((id) => this.#evidence.erase(id));
  }

  get direct(): JobStore {
    return this.jobs;
  }

  storesOf(simulation: Simulation, actor: Actor): Stores {
    const through: Through = async (kind, what, apply) => await simulation.effect(actor, kind, what, apply);
    return {
      jobs: jobsOf(simulation, through),
      lanes: lanesOf(simulation, through),
      evidence: {
        add: async (id, evidence) =>
          await through('write', `evidence ${evidence.what}`, async () => {
            simulation.evidenceAdded += 1;
            await this.#evidence.add(id, evidence);
          }),
        read: async (id) => await this.#evidence.read(id),
      },
      audit: {
        add: async (subject, entry) =>
          await through('write', `audit ${entry.action}`, () => this.#audit.add(subject, entry)),
        read: async (subject) => await this.#audit.read(subject),
      },
      owners: {
        count: async (...count) => await through('write', 'count', () => this.#owners.count(...count)),
        countRefused: async (...refused) =>
          await through('write', 'count refused', () => this.#owners.countRefused(...refused)),
      },
    };
  }

  backUp(): () => void {
    const jobs = this.jobs.all();
    const lanes = this.#names.map((name) => this.lanes.get(name));
    return () => {
      for (const job of jobs) this.jobs.put(job);
      for (const lane of lanes) this.lanes.put(lane);
    };
  }

  amiss(): readonly string[] {
    return [];
  }
}

function jobsOf(simulation: Simulation, through: Through): JobStore {
  const { jobs, watchdog } = simulation;
  return {
    read: async (id) => await through('read', `read ${id}`, () => jobs.read(id)),
    create: async (job) => await through('write', `create ${job.id}`, () => jobs.create(job)),
    move: async (moving) =>
      await through('write', `${moving.transition} ${moving.job.id}`, async () => {
        const before = simulation.jobOf(moving.job.id);
        const moved = ownClaim(moving, await jobs.move(moving));
        watchdog.moved(moving.transition, before, simulation.jobOf(moving.job.id));
        return moved;
      }),
    putRequest: async (id, ...put) => await through('write', `put request ${id}`, () => jobs.putRequest(id, ...put)),
    readRequest: async (id, token) => await jobs.readRequest(id, token),
    deleteRequest: async (id, token) =>
      await through('write', `delete request ${id}`, () => jobs.deleteRequest(id, token)),
    linkVendorJob: async (...link) => await through('write', `link ${link[1]}`, () => jobs.linkVendorJob(...link)),
    vendorJobOwner: async (...link) => await jobs.vendorJobOwner(...link),
    follow: async (...follow) => await through('write', `follow ${follow[0]}`, () => jobs.follow(...follow)),
    unfollow: async (...follow) => await through('write', `unfollow ${follow[0]}`, () => jobs.unfollow(...follow)),
    erase: async (...erase) => await through('write', `erase ${erase[0].id}`, () => jobs.erase(...erase)),
    eraseSiblings: async (id) => await through('write', `erase siblings ${id}`, () => jobs.eraseSiblings(id)),
  };
}

/** As the real store: what a claim wrote is known by its own token, if nobody moved it on. */
function ownClaim<T extends Transition>(moving: Move<T>, moved: Moved<T>): Moved<T> {
  if (moved.kind === 'moved' || moved.actual === undefined) return moved;
  const { job, transition } = moving;
  const change: Partial<Job> = moving.change;
  const isOwn =
    change.claimToken !== undefined &&
    moved.actual.claimToken === change.claimToken &&
    moved.actual.state === rowOf(transition).to &&
    moved.actual.attempt === job.attempt + 1;
  return isOwn
    ? { kind: 'moved', job: moved.actual as Job<To<T>>, unbound: undefined, followers: moved.actual.followers }
    : moved;
}

function lanesOf({ lanes, watchdog }: Simulation, through: Through): LaneStore {
  return {
    read: async (lane) => await through('read', `read lane ${lane}`, () => lanes.read(lane)),
    glance: async (lane) => await lanes.glance(lane),
    takeOverCap: async (lane) => await lanes.takeOverCap(lane),
    hold: async (...hold) => await through('write', `hold ${hold[2].jobId}`, () => lanes.hold(...hold)),
    free: async (lane, token) =>
      await through('write', `free ${token}`, async () => {
        watchdog.freeing(lane, token);
        return await lanes.free(lane, token);
      }),
    backOff: async (...back) => await through('write', 'back off', () => lanes.backOff(...back)),
    trip: async (...trip) => await through('write', 'trip', () => lanes.trip(...trip)),
    change: async (...change) => await through('write', 'change lane', () => lanes.change(...change)),
  };
}
