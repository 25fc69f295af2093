import type { Job } from '../../../lambdas/domain/job.ts';
import type { Announcement, Clock, LiveMessage } from '../../../lambdas/domain/ports.ts';
import { tickMs } from '../../../lambdas/domain/timing.ts';
import type { Submission } from '../../../lambdas/domain/vendor.ts';
import type { Notice } from '../../../lambdas/domain/world.ts';
import { CountingTokens } from '../../fakes/counting-tokens.ts';
import { MemoryFileStore } from '../../fakes/memory-file-store.ts';
import type { MemoryJobIndex } from '../../fakes/memory-job-index.ts';
import type { MemoryJobStore } from '../../fakes/memory-job-store.ts';
import type { MemoryLaneStore } from '../../fakes/memory-lane-store.ts';
import { MemoryUploadStore } from '../../fakes/memory-upload-store.ts';
import { Actor, never } from './actor.ts';
import type { Effect, EffectKind, Fault, FaultPlan } from './faults.ts';
import { MemoryTables } from './memory-tables.ts';
import { RingQueue } from './ring-queue.ts';
import type { Setup } from './setup.ts';
import { SimulatedVendor } from './simulated-vendor.ts';
import type { Tables } from './tables.ts';
import { Timeline } from './timeline.ts';
import { callBack } from './vendor-callbacks.ts';
import { thisVersion, type Version } from './version.ts';
import { Watchdog } from './watchdog.ts';
import { worldOf, type SimulatedWorld } from './world-of.ts';

const tickShiftMs = 50_000;
/** A run that does more than this goes round in circles. */
const mostEffects = 20_000;

/** The real domain over a world that can do to it what the real one can, and counts what comes of it. */
export class Simulation {
  readonly setup: Setup;
  readonly timeline = new Timeline(Date.UTC(2026, 0, 1) + 20_000);
  readonly tokens = new CountingTokens();
  readonly tables: Tables;
  /** What the tables hold at this moment. */
  readonly jobs: MemoryJobStore;
  readonly lanes: MemoryLaneStore;
  readonly index: MemoryJobIndex;
  readonly uploads = new MemoryUploadStore();
  readonly files = new MemoryFileStore();
  /** The last bytes written under each key. */
  readonly pictures = new Map<string, Uint8Array>();
  readonly vendors: ReadonlyMap<string, SimulatedVendor>;
  readonly announcements: Announcement[] = [];
  evidenceAdded = 0;
  readonly messages: LiveMessage[] = [];
  /** A message is on its way to one socket. */
  onSent: (connectionId: string, message: LiveMessage) => void = () => undefined;
  readonly notices: Notice[] = [];
  readonly effects: Effect[] = [];
  readonly watchdog: Watchdog;
  #isDeaf = false;
  hasBeenDeaf = false;
  /** Nothing is delivered and no tick runs meanwhile: a person works on the table. */
  isClosed = false;
  /** Raised when the table is replaced: what is still on its way to the old one never arrives. */
  epoch = 0;
  readonly rings = new RingQueue(this);
  readonly errors: unknown[] = [];
  readonly #actorsAlive = new Set<Actor>();
  readonly #writtenAt: [number, number][] = [];
  #plan: FaultPlan;
  #actors = 0;

  constructor(setup: Setup) {
    this.setup = setup;
    this.#plan = setup.plan;
    this.tables = setup.createTables?.(setup.caps) ?? new MemoryTables(setup.caps);
    this.jobs = this.tables.jobs;
    this.lanes = this.tables.lanes;
    this.index = this.tables.index;
    this.vendors = new Map(setup.vendors.map((vendor) => [vendor.name, new SimulatedVendor(vendor, this.timeline)]));
    this.watchdog = new Watchdog(this);
    for (const vendor of this.vendors.values()) {
      vendor.onTaken = (run, before) => this.watchdog.taken(vendor, run, before);
      vendor.onEvent = (run) => callBack(this, vendor, run);
    }
  }

  /** Nothing is heard meanwhile: neither rings nor webhooks. */
  get isDeaf(): boolean {
    return this.#isDeaf;
  }

  set isDeaf(isDeaf: boolean) {
    this.#isDeaf = isDeaf;
    this.hasBeenDeaf ||= isDeaf;
  }

  vendor(name: string): SimulatedVendor {
    const vendor = this.vendors.get(name);
    if (vendor === undefined) throw new Error(`There is no vendor ${name}.`);
    return vendor;
  }

  /** Nobody is at work, and nothing is on its way to anybody. */
  get isIdle(): boolean {
    return this.#actorsAlive.size === 0 && this.rings.waiting === 0;
  }

  stopFaults(): void {
    this.#plan = () => undefined;
  }

  clockOf(actor: Actor): Clock {
    return { now: () => this.timeline.now() + actor.skewMs };
  }

  /** One effect on the world, with what goes wrong at it. */
  async effect<T>(actor: Actor, kind: EffectKind, what: string, apply: () => Promise<T>): Promise<T> {
    const { fault, backMs } = await this.#begin(actor, kind, what);
    switch (fault?.kind) {
      case 'crash_after':
        await this.#apply(apply);
        return await this.kill(actor);
      case 'crash_late':
        this.#applyLate(apply, fault.delayMs);
        return await this.kill(actor);
      case 'answer_lost':
        await this.#apply(apply);
        await this.timeline.sleep(fault.delayMs);
        await this.alive(actor, undefined);
        return await this.alive(actor, await this.#apply(apply));
      case 'error_before':
        throw new Error(`${what}: no answer`);
      case 'error_after':
        await this.#apply(apply);
        throw new Error(`${what}: no answer`);
      case 'twice':
        await this.#apply(apply);
        break;
      default:
    }
    const result = await this.#apply(apply);
    if (backMs > 0) await this.timeline.sleep(backMs);
    return await this.alive(actor, result);
  }

  /** A ring that may be dropped. */
  async ring(actor: Actor, lane: string, hint: string | undefined, delayMs: number): Promise<void> {
    const { fault } = await this.#begin(actor, 'ring', `ring ${hint ?? ''}`);
    if (fault?.kind === 'error_before') throw new Error('ring: no answer');
    if (fault?.kind === 'crash_late') {
      this.rings.enqueue(lane, hint, delayMs + fault.delayMs);
      return await this.kill(actor);
    }
    if (fault?.kind !== 'dropped') this.rings.enqueue(lane, hint, delayMs);
    if (fault?.kind === 'twice') this.rings.enqueue(lane, hint, delayMs + 700);
    if (fault?.kind === 'crash_after') return await this.kill(actor);
  }

  async beginSend(actor: Actor, what: string): Promise<Fault | undefined> {
    return (await this.#begin(actor, 'send', what)).fault;
  }

  /** Undefined: the vendor doesn't answer. */
  async ask<T>(actor: Actor, what: string, vendor: SimulatedVendor, answer: () => T): Promise<T | undefined> {
    const { fault } = await this.#begin(actor, 'ask', what);
    if (fault?.kind === 'error_before' || vendor.isDown) return undefined;
    const said = answer();
    return fault?.kind === 'crash_after' ? await this.kill(actor) : await this.alive(actor, said);
  }

  async fetch(actor: Actor): Promise<'fetched' | 'unreachable' | 'lost'> {
    const { fault } = await this.#begin(actor, 'fetch', 'fetch result');
    if (fault?.kind === 'dropped') return 'lost';
    return fault?.kind === 'error_before' ? 'unreachable' : 'fetched';
  }

  /** The sender is gone, its request is not. */
  leaveTravelling(vendor: SimulatedVendor, submission: Submission, delayMs: number): void {
    this.timeline.after(delayMs, () => {
      vendor.posts += 1;
      vendor.arrive(submission.vendorKey, submission.callbackUrl);
    });
  }

  async kill(actor: Actor): Promise<never> {
    actor.kill();
    return await never();
  }

  async alive<T>(actor: Actor, result: T): Promise<T> {
    return actor.isDead ? await never() : result;
  }

  async wait(actor: Actor, durationMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || durationMs <= 0) return;
    await new Promise<void>((resolve) => {
      const callOff = this.timeline.after(durationMs, resolve);
      const stop = () => {
        callOff();
        resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
    });
    await this.alive(actor, undefined);
  }

  deadline(durationMs: number): AbortSignal {
    const over = new AbortController();
    this.timeline.inBackground(durationMs, () => over.abort('over'));
    return over.signal;
  }

  /** The deployment is taken off the table, and whatever is at work with it. */
  close(): void {
    this.isClosed = true;
    this.epoch += 1;
    for (const actor of this.#actorsAlive) actor.kill();
  }

  /** Runs something as a sandbox of its own. */
  async start(
    name: string,
    work: (world: SimulatedWorld, actor: Actor) => Promise<unknown>,
  ): Promise<'done' | 'threw' | 'died'> {
    this.#actors += 1;
    const actor = new Actor(`${name}-${this.#actors}`, this.setup.skewMs?.() ?? 0);
    this.#actorsAlive.add(actor);
    const worked = work(worldOf(this, actor), actor).then(
      () => 'done' as const,
      (error: unknown) => {
        this.errors.push(error);
        return 'threw' as const;
      },
    );
    const end = await Promise.race([worked, actor.death]);
    this.#actorsAlive.delete(actor);
    return end;
  }

  versionOf(role: 'worker' | 'tick'): Version {
    return this.setup.versionOf?.(role, this.#actors) ?? thisVersion;
  }

  async tick(lanes: readonly string[] = Object.keys(this.setup.caps)): Promise<'done' | 'threw' | 'died'> {
    return await this.start('tick', async (world, actor) => {
      const stop = new AbortController();
      const shift = { endsAt: this.clockOf(actor).now() + tickShiftMs, signal: stop.signal };
      const { reconcileJobs } = this.versionOf('tick');
      const report = await reconcileJobs(world, lanes, new Map(), shift);
      stop.abort('over');
      this.errors.push(...report.errors);
    });
  }

  /** The schedule: one tick a minute, `count` of them, each `overlap` times over. */
  scheduleTicks(count: number, overlap = 1): void {
    const first = tickMs - (this.timeline.now() % tickMs);
    for (let nth = 0; nth < count; nth += 1) {
      for (let twin = 0; twin < overlap; twin += 1) {
        this.timeline.inBackground(first + nth * tickMs, () => {
          if (!this.isClosed) void this.tick();
        });
      }
    }
  }

  /** How late the indexes are now is set before each question to them. */
  lagIndex(): void {
    const { length } = this.jobs.written;
    const since = this.timeline.now() - (this.setup.indexLagMs?.() ?? 0);
    const seen = this.#writtenAt.findLast(([at]) => at <= since)?.[1] ?? 0;
    this.index.lagWrites = length - seen;
  }

  pictureAt(key: string): Uint8Array | undefined {
    return this.files.keys.includes(key) ? this.pictures.get(key) : undefined;
  }

  jobOf(id: string): Job | undefined {
    return this.jobs.all().find((job) => job.id === id);
  }

  async #begin(
    actor: Actor,
    kind: EffectKind,
    what: string,
  ): Promise<{ readonly fault: Fault | undefined; readonly backMs: number }> {
    if (actor.isDead) return await never();
    if (this.effects.length > mostEffects) {
      this.watchdog.say('6 ends', 'it never comes to rest');
      return await this.kill(actor);
    }
    const effect: Effect = { number: this.effects.length, kind, what, actor: actor.name };
    this.effects.push(effect);
    const fault = this.#plan(effect);
    const [thereMs, backMs] = this.setup.latencyMs?.(effect) ?? [0, 0];
    const stallMs = thereMs + (fault?.kind === 'stall' ? fault.delayMs : 0);
    if (stallMs > 0) await this.timeline.sleep(stallMs);
    if (fault?.kind === 'crash_before') return await this.kill(actor);
    return await this.alive(actor, { fault, backMs });
  }

  #applyLate(apply: () => Promise<unknown>, delayMs: number): void {
    const { epoch } = this;
    this.timeline.after(delayMs, () => {
      if (this.epoch === epoch) void this.#apply(apply).catch(() => undefined);
    });
  }

  async #apply<T>(apply: () => Promise<T>): Promise<T> {
    const result = await apply();
    const { length } = this.jobs.written;
    if (length !== (this.#writtenAt.at(-1)?.[1] ?? 0)) this.#writtenAt.push([this.timeline.now(), length]);
    this.watchdog.look();
    return result;
  }
}
