import type { AuditStore, OwnerStore } from '../../../lambdas/domain/ports.ts';
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
    ...simulation.tables.storesOf(simulation, actor),
    index: indexOf(simulation),
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
    feed: {
      send: (followers, message) => {
        simulation.messages.push(message);
        for (const follower of followers) simulation.onSent(follower, message);
      },
      flush: async () => undefined,
    },
    notices: { note: (notice) => void simulation.notices.push(notice) },
    callbackUrl: async ({ id, generation }) => `${id}|${generation}`,
    retentionMs,
  };
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
    glanceFlagged: async (...query) => await lagging(() => index.glanceFlagged(...query)),
    ofOwner: async (...query) => await lagging(() => index.ofOwner(...query)),
  };
}
