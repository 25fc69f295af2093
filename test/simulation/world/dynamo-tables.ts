import { GetItemCommand, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import type { AuditStore, EvidenceStore, JobStore, LaneStore, OwnerStore } from '../../../lambdas/domain/ports.ts';
import { isTerminal, type Job } from '../../../lambdas/domain/job.ts';
import { plain } from '../../../lambdas/store/conditional-write.ts';
import { DynamoAuditStore } from '../../../lambdas/store/dynamo-audit-store.ts';
import { DynamoEvidenceStore } from '../../../lambdas/store/dynamo-evidence-store.ts';
import { DynamoJobStore } from '../../../lambdas/store/dynamo-job-store.ts';
import { DynamoLaneStore } from '../../../lambdas/store/dynamo-lane-store.ts';
import { DynamoOwnerStore } from '../../../lambdas/store/dynamo-owner-store.ts';
import { readOf, type Key } from '../../../lambdas/store/item.ts';
import { laneOf } from '../../../lambdas/store/lane-item.ts';
import { clientOver, isRefusal, MemoryDynamo, type Command, type Item } from '../../fakes/memory-dynamo.ts';
import { MemoryJobIndex, type IndexKeys } from '../../fakes/memory-job-index.ts';
import { MemoryJobStore } from '../../fakes/memory-job-store.ts';
import { MemoryLaneStore } from '../../fakes/memory-lane-store.ts';
import type { Actor } from './actor.ts';
import type { Simulation } from './simulation.ts';
import type { Stores, Tables } from './tables.ts';
import { retentionMs } from './world-of.ts';

/** What surrounds each request of a call, where it is done. */
type Around = <T>(apply: () => T) => T;

/** One call of a store: a client of its own, whose requests bear its name. */
type Calling = (what: string, around?: Around) => ReturnType<typeof clientOver>;

type Outcome =
  | { readonly kind: 'answered'; readonly answer: object }
  | { readonly kind: 'thrown'; readonly error: unknown };

const table = 'memory';

/**
 * The real adapters over a DynamoDB in this process: each of their requests is one effect, so that whatever goes wrong
 * can go wrong between any two of them. What is watched is what the adapters' own readers make of the stored items.
 */
export class DynamoTables implements Tables {
  readonly jobs = new MemoryJobStore();
  readonly lanes: MemoryLaneStore;
  readonly index = new MemoryJobIndex(this.jobs, (job) => this.#indexKeys.get(job) ?? {});
  readonly direct: JobStore;
  readonly #dynamo = new MemoryDynamo(table);
  readonly #caps: Readonly<Record<string, number>>;
  /** Of each job as it was read, once. */
  readonly #indexKeys = new WeakMap<Job, IndexKeys>();
  /** Until when each other item is kept. */
  readonly #ttls = new Map<string, number | undefined>();

  constructor(caps: Readonly<Record<string, number>>) {
    this.#caps = caps;
    this.lanes = new MemoryLaneStore(caps);
    this.direct = new DynamoJobStore(this.#dynamo.client, table);
    this.#dynamo.whenWritten((key, item) => this.#mirror(key, item));
  }

  storesOf(simulation: Simulation, actor: Actor): Stores {
    const calling: Calling = (what, around = (apply) => apply()) => {
      let requests = 0;
      return clientOver(async (command) => {
        const name = requests === 0 ? what : `${what}, then ${describe(command)}`;
        requests += 1;
        return await this.#request(simulation, actor, name, command, around);
      });
    };
    return {
      jobs: jobsOf(simulation, calling),
      lanes: lanesOf(simulation, calling, this.#caps),
      evidence: evidenceOf(simulation, calling),
      audit: auditOf(calling),
      owners: ownersOf(calling),
    };
  }

  backUp(): () => void {
    const snapshot = this.#dynamo.snapshot();
    return () => this.#dynamo.restore(snapshot);
  }

  /** What the user asked for, and whose a vendor's job is, go with the ended job: not before, and not never. */
  amiss(): readonly string[] {
    return this.jobs.all().flatMap(({ id, submitToken, vendor, vendorJobId, state, ttl, announce }) => {
      if (!isTerminal(state) || announce !== undefined) return [];
      const request = keyText({ pk: id, sk: `request#${submitToken}` });
      const link = keyText({ pk: `vendor-job#${vendor}#${vendorJobId}`, sk: 'link' });
      return [request, link]
        .filter((sibling) => this.#ttls.has(sibling) && this.#ttls.get(sibling) !== ttl)
        .map((sibling) => `${sibling} is kept until ${this.#ttls.get(sibling)}, its job until ${ttl}`);
    });
  }

  async #request(
    simulation: Simulation,
    actor: Actor,
    what: string,
    command: Command,
    around: Around,
  ): Promise<object> {
    const kind = command instanceof GetItemCommand || command instanceof QueryCommand ? 'read' : 'write';
    // A refusal is an answer: it can be lost, and what is sent again then is the request.
    const outcome = await simulation.effect(actor, kind, what, async () => around(() => this.#outcomeOf(command)));
    if (outcome.kind === 'answered') return outcome.answer;
    if (!isRefusal(outcome.error)) simulation.watchdog.say('adapter', `${what}: ${String(outcome.error)}`);
    throw outcome.error;
  }

  #outcomeOf(command: Command): Outcome {
    try {
      return { kind: 'answered', answer: this.#dynamo.send(command) };
    } catch (error) {
      return { kind: 'thrown', error };
    }
  }

  #mirrorJob(id: string, item: Item | undefined): void {
    const read = item === undefined ? undefined : readOf(plain(item));
    if (item !== undefined && read?.kind === 'job') this.#indexKeys.set(read.job, indexKeysIn(item));
    this.jobs.mirror(id, read);
  }

  #mirror(key: Key, item: Item | undefined): void {
    if (key.sk === 'job') this.#mirrorJob(key.pk, item);
    else if (key.sk === 'lane' && item !== undefined) this.lanes.put(laneOf(plain(item)));
    else if (key.sk === 'lane') this.lanes.forget(key.pk.slice(key.pk.indexOf('#') + 1));
    else if (item === undefined) this.#ttls.delete(keyText(key));
    else this.#ttls.set(keyText(key), item['ttl']?.N === undefined ? undefined : Number(item['ttl'].N));
  }
}

function indexKeysIn({ queuedLane, activeShard, attention, flaggedAt }: Item): IndexKeys {
  return {
    ...(queuedLane?.S === undefined ? {} : { queuedLane: queuedLane.S }),
    ...(activeShard?.S === undefined ? {} : { activeShard: activeShard.S }),
    ...(attention?.S === undefined ? {} : { attention: attention.S }),
    ...(flaggedAt?.N === undefined ? {} : { flaggedAt: Number(flaggedAt.N) }),
  };
}

function keyText({ pk, sk }: Key): string {
  return `${pk} ${sk}`;
}

function describe(command: Command): string {
  if (command instanceof QueryCommand) return 'query';
  if (command instanceof PutItemCommand) return `put ${command.input.Item?.['sk']?.S}`;
  return `${command.constructor.name.replace('ItemCommand', '').toLowerCase()} ${command.input.Key?.['sk']?.S}`;
}

function jobsOf(simulation: Simulation, calling: Calling): JobStore {
  const { watchdog } = simulation;
  const store = (what: string, around?: Around) => new DynamoJobStore(calling(what, around), table);
  return {
    read: async (id) => await store(`read ${id}`).read(id),
    create: async (job) => await store(`create ${job.id}`).create(job),
    move: async (moving) => {
      const { transition, job } = moving;
      const watched: Around = (apply) => {
        const before = simulation.jobOf(job.id);
        const applied = apply();
        watchdog.moved(transition, before, simulation.jobOf(job.id));
        return applied;
      };
      return await store(`${transition} ${job.id}`, watched).move(moving);
    },
    putRequest: async (id, ...put) => await store(`put request ${id}`).putRequest(id, ...put),
    readRequest: async (id, token) => await store(`read request ${id}`).readRequest(id, token),
    deleteRequest: async (id, token) => await store(`delete request ${id}`).deleteRequest(id, token),
    linkVendorJob: async (...link) => await store(`link ${link[1]}`).linkVendorJob(...link),
    vendorJobOwner: async (...link) => await store(`read link ${link[1]}`).vendorJobOwner(...link),
    follow: async (...follow) => await store(`follow ${follow[0]}`).follow(...follow),
    unfollow: async (...follow) => await store(`unfollow ${follow[0]}`).unfollow(...follow),
    erase: async (...erase) => await store(`erase ${erase[0].id}`).erase(...erase),
    eraseSiblings: async (id) => await store(`erase siblings ${id}`).eraseSiblings(id),
  };
}

function lanesOf({ watchdog }: Simulation, calling: Calling, caps: Readonly<Record<string, number>>): LaneStore {
  const store = (what: string, around?: Around) => new DynamoLaneStore(calling(what, around), table, caps);
  return {
    read: async (lane) => await store(`read lane ${lane}`).read(lane),
    glance: async (lane) => await store(`glance at lane ${lane}`).glance(lane),
    takeOverCap: async (lane) => await store('take over cap').takeOverCap(lane),
    hold: async (...hold) => await store(`hold ${hold[2].jobId}`).hold(...hold),
    free: async (lane, token) => {
      const watched: Around = (apply) => {
        watchdog.freeing(lane, token);
        return apply();
      };
      return await store(`free ${token}`, watched).free(lane, token);
    },
    backOff: async (...back) => await store('back off').backOff(...back),
    trip: async (...trip) => await store('trip').trip(...trip),
    change: async (...change) => await store('change lane').change(...change),
  };
}

function evidenceOf(simulation: Simulation, calling: Calling): EvidenceStore {
  const counted: Around = (apply) => {
    simulation.evidenceAdded += 1;
    return apply();
  };
  return {
    add: async (id, evidence) =>
      await new DynamoEvidenceStore(calling(`evidence ${evidence.what}`, counted), table, retentionMs).add(
        id,
        evidence,
      ),
    read: async (id) => await new DynamoEvidenceStore(calling(`read evidence ${id}`), table, retentionMs).read(id),
  };
}

function auditOf(calling: Calling): AuditStore {
  return {
    add: async (subject, entry) =>
      await new DynamoAuditStore(calling(`audit ${entry.action}`), table, retentionMs).add(subject, entry),
    read: async (subject) =>
      await new DynamoAuditStore(calling(`read audit ${subject}`), table, retentionMs).read(subject),
  };
}

function ownersOf(calling: Calling): OwnerStore {
  return {
    count: async (...count) => await new DynamoOwnerStore(calling('count'), table).count(...count),
    countRefused: async (...refused) =>
      await new DynamoOwnerStore(calling('count refused'), table).countRefused(...refused),
  };
}
