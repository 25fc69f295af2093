import type { AuditStore, JobStore, Moved, OwnerStore } from '../../../lambdas/domain/ports.ts';
import type { Job } from '../../../lambdas/domain/job.ts';
import { rowOf, type Move, type To, type Transition } from '../../../lambdas/domain/lifecycle.ts';
import type { World } from '../../../lambdas/domain/world.ts';
import type { Actor } from './actor.ts';
import type { EffectKind } from './faults.ts';
import type { Simulation } from './simulation.ts';
import { adapterOf } from './vendor-adapter.ts';

export type SimulatedWorld = World & { readonly audit: AuditStore; readonly owners: OwnerStore };

export const retentionMs = 30 * 24 * 3_600_000;

/** The world as one sandbox sees it: the shared stores, each write and question an effect that can go wrong. */
export function worldOf(simulation: Simulation, actor: Actor): SimulatedWorld {
  const through = <T>(kind: EffectKind, what: string, apply: () => Promise<T>) =>
    simulation.effect(actor, kind, what, apply);
  return {
    clock: simulation.clockOf(actor),
    tokens: simulation.tokens,
    waiting: {
      wait: async (durationMs, signal) => await simulation.wait(actor, durationMs, signal),
      deadline: (durationMs) => simulation.deadline(durationMs),
    },
    jobs: jobsOf(simulation, through),
    index: indexOf(simulation),
    lanes: lanesOf(simulation, through),
    doorbell: { ring: async (lane, hint, delayMs = 0) => await simulation.ring(actor, lane, hint, delayMs) },
    files: {
      put: async (key, bytes, contentType) =>
        await through('write', `put ${key}`, async () => {
          simulation.pictures.set(key, bytes);
          await simulation.files.put(key, bytes, contentType);
        }),
      get: async (key) => await simulation.files.get(key),
      delete: async (key) => await through('write', `delete ${key}`, () => simulation.files.delete(key)),
      deletePrefix: async (prefix) =>
        await through('write', `delete ${prefix}*`, async () => {
          simulation.watchdog.erasing(prefix);
          return await simulation.files.deletePrefix(prefix);
        }),
    },
    evidence: {
      add: async (id, evidence) =>
        await through('write', `evidence ${evidence.what}`, async () => {
          simulation.evidenceAdded += 1;
          await simulation.evidence.add(id, evidence);
        }),
      read: async (id) => await simulation.evidence.read(id),
    },
    audit: {
      add: async (subject, entry) =>
        await through('write', `audit ${entry.action}`, () => simulation.audit.add(subject, entry)),
      read: async (subject) => await simulation.audit.read(subject),
    },
    owners: {
      count: async (...count) => await through('write', 'count', () => simulation.owners.count(...count)),
    },
    vendors: {
      named: (name) => {
        const vendor = simulation.vendors.get(name);
        return vendor === undefined ? undefined : adapterOf(simulation, actor, vendor);
      },
    },
    bus: {
      publish: async (announcement) =>
        await through('publish', `publish ${announcement.id}`, async () => {
          simulation.announcements.push(announcement);
        }),
    },
    feed: { send: (_, message) => void simulation.messages.push(message), flush: async () => undefined },
    notices: { note: (notice) => void simulation.notices.push(notice) },
    callbackUrl: async ({ id, generation }) => `${id}|${generation}`,
    retentionMs,
  };
}

type Through = <T>(kind: EffectKind, what: string, apply: () => Promise<T>) => Promise<T>;

function jobsOf(simulation: Simulation, through: Through): JobStore {
  const { jobs } = simulation;
  return {
    read: async (id) => await through('read', `read ${id}`, () => jobs.read(id)),
    create: async (job) => await through('write', `create ${job.id}`, () => jobs.create(job)),
    move: async (moving) =>
      await through('write', `${moving.transition} ${moving.job.id}`, async () => {
        const before = simulation.jobOf(moving.job.id);
        const moved = ownClaim(moving, await jobs.move(moving));
        simulation.watchdog.moved(moving.transition, before, simulation.jobOf(moving.job.id));
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

function indexOf(simulation: Simulation): World['index'] {
  const { index } = simulation;
  const lagging = async <T>(read: () => Promise<T>): Promise<T> => {
    simulation.lagIndex();
    return await read();
  };
  return {
    queued: async (...query) => await lagging(() => index.queued(...query)),
    countQueued: async (lane) => await lagging(() => index.countQueued(lane)),
    countAhead: async (...query) => await lagging(() => index.countAhead(...query)),
    due: async (...query) => await lagging(() => index.due(...query)),
    flagged: async (...query) => await lagging(() => index.flagged(...query)),
    ofOwner: async (...query) => await lagging(() => index.ofOwner(...query)),
  };
}

function lanesOf(simulation: Simulation, through: Through): World['lanes'] {
  const { lanes, watchdog } = simulation;
  return {
    read: async (lane) => await through('read', `read lane ${lane}`, () => lanes.read(lane)),
    glance: async (lane) => await lanes.glance(lane),
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
