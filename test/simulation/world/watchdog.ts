import { isTerminal, type Job, type State } from '../../../lambdas/domain/job.ts';
import { minHoldAgeMs } from '../../../lambdas/domain/lane.ts';
import { cantBeRunningFrom } from '../../../lambdas/domain/money-rule.ts';
import { tickMs } from '../../../lambdas/domain/timing.ts';
import { mayBecome } from './legal-moves.ts';
import type { SimulatedVendor, VendorRun } from './simulated-vendor.ts';
import type { Simulation } from './simulation.ts';

export interface Violation {
  /** Of the invariants in the design. */
  readonly invariant: string;
  readonly what: string;
}

/** Looks at the whole world after every effect, and says what must never be so. */
export class Watchdog {
  readonly violations: Violation[] = [];
  /** A restored table knows less than the world: only what comes of it is judged then. */
  isLenient = false;
  /** How long a hold may be bound by nobody: the minimum age, one interval, and what a dead or stalled tick costs. */
  longestLeakMs = minHoldAgeMs + 4 * tickMs;
  /** The runs that a person vouched for. */
  readonly bought = new Set<string>();
  readonly #simulation: Simulation;
  readonly #caps = new Map<string, number>();
  /** The state of each job at each of its versions. */
  readonly #stored = new Map<string, State>();
  readonly #erased: string[] = [];
  readonly #unboundSince = new Map<string, number>();
  readonly #progressAt = new Map<string, number[]>();
  readonly #announceable = new Map<string, { id: string; at: number }[]>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  say(invariant: string, what: string): void {
    if (this.violations.some((known) => known.what === what)) return;
    this.violations.push({ invariant, what });
  }

  /** The vendor took a request. */
  taken(vendor: SimulatedVendor, run: VendorRun, before: readonly VendorRun[]): void {
    if (before.length > 0)
      this.say('1 paid once', `${run.key} was bought again: ${before.map(({ id }) => id).join(', ')}`);
    if (this.isLenient) return;
    const job = this.#simulation.jobOf(run.jobId);
    if (job !== undefined && isTerminal(job.state) && job.failure?.code !== 'failed_by_operator') {
      this.say('7 truth', `${job.id} is ${job.state}, and ${vendor.setup.name} takes it`);
    }
    this.look();
  }

  /** An erasure takes the pictures first: where it broke off, they are gone, and the job can still be erased. */
  erasing(prefix: string): void {
    this.#erased.push(prefix);
  }

  /** A job moved. */
  moved(transition: string, before: Job | undefined, after: Job | undefined): void {
    if (before === undefined || after === undefined || before === after) return;
    const { id } = after;
    if (!mayBecome[before.state].includes(after.state)) this.say('5 table', `${id}: ${before.state} → ${after.state}`);
    if (isTerminal(before.state) && JSON.stringify(outcomeOf(before)) !== JSON.stringify(outcomeOf(after))) {
      this.say('5 table', `${id}: its end changed`);
    }
    if (after.version < before.version) this.say('5 table', `${id}: its version fell`);
    if (after.state !== before.state && after.version === before.version) {
      this.say('5 table', `${id}: ${before.state} → ${after.state} without a new version`);
    }
    if (after.attempt < before.attempt || after.generation < before.generation) this.say('5 table', `${id}: fell back`);
    if (after.state === 'queued' && before.state !== 'queued' && after.attempt === before.attempt) {
      this.say('5 table', `${id}: queued again under the same attempt`);
    }
    if (transition === 'progress') this.#progressed(before, after);
    if (before.state === 'running' && after.state === 'needs_attention') this.#flaggedWhileRunning(before, after);
    if (transition === 'claim' && before.cancelRequestedAt !== undefined) {
      this.say('14 cancel', `${id} is bought although its owner asked to cancel it`);
    }
    if (after.state === 'running' && before.state !== 'running') this.#accepted(after);
    this.#rememberAnnouncement(before, after);
    this.#stored.set(`${id}.${after.version}`, after.state);
  }

  /** A worker or a sweep frees a hold. */
  freeing(_: string, token: string): void {
    const bound = this.#simulation.jobs.all().find(({ hold }) => hold?.token === token);
    if (bound !== undefined) this.say('3 holds', `${bound.id} is bound to ${token}, which is freed`);
  }

  /** After each effect. */
  look(): void {
    const { vendors, lanes, setup } = this.#simulation;
    if (this.isLenient) return;
    for (const lane of Object.keys(setup.caps)) this.#lookAtLane(lane);
    for (const vendor of vendors.values()) {
      for (const run of vendor.running) this.#lookAtRun(run);
    }
    for (const job of this.#simulation.jobs.all()) {
      if (job.ttl !== undefined && !isTerminal(job.state))
        this.say('6 ends', `${job.id} is ${job.state}, and will be gone by itself`);
      if (job.state !== 'dispatching' && job.state !== 'running') continue;
      if (lanes.get(job.lane).held[job.hold.token] === undefined) {
        this.say('2 cap', `${job.id} is ${job.state} without a unit of its lane`);
      }
    }
  }

  #lookAtLane(name: string): void {
    const { lanes, jobs, vendors } = this.#simulation;
    const lane = lanes.get(name);
    const held = Object.keys(lane.held).length;
    const most = Math.max(lane.cap, Math.min(this.#caps.get(name) ?? 0, held));
    if (held > most) this.say('2 cap', `lane ${name}: ${held} held of ${lane.cap}`);
    this.#caps.set(name, Math.max(lane.cap, held <= lane.cap ? 0 : held));
    for (const [token, unit] of Object.entries(lane.held)) {
      const now = this.#simulation.timeline.now();
      const isBound = jobs.all().some(({ hold }) => hold?.token === token);
      const since = isBound ? now : (this.#unboundSince.get(token) ?? now);
      this.#unboundSince.set(token, since);
      if (now - since > this.longestLeakMs) this.say('3 holds', `${token} of ${unit.jobId} is bound by nobody`);
    }
    const inLane = new Set(jobs.all().flatMap((job) => (job.lane === name ? [job.id] : [])));
    const running = [...vendors.values()].flatMap((vendor) => vendor.running.filter(({ jobId }) => inLane.has(jobId)));
    if (running.length > held) this.say('2 cap', `lane ${name}: ${running.length} run at the vendor, ${held} held`);
  }

  #lookAtRun(run: VendorRun): void {
    const job = this.#simulation.jobOf(run.jobId);
    if (job === undefined) return this.say('2 cap', `${run.key} runs, and its job is gone`);
    if (job.hold === undefined) this.say('2 cap', `${run.key} runs, and ${job.id} (${job.state}) holds nothing`);
  }

  #progressed(before: Job, after: Job): void {
    // A client that repeats a write whose answer it lost writes the same thing once more.
    if (before.progress?.at === after.progress?.at) return;
    const now = this.#simulation.timeline.now();
    const times = this.#progressAt.get(after.id) ?? [];
    this.#progressAt.set(after.id, [...times, now]);
    const fell = (before.progress?.percent ?? 0) > (after.progress?.percent ?? 0);
    if (fell) this.say('8 progress', `${after.id}: its progress fell`);
    const first = times[0] ?? now;
    if (times.length + 1 > (now - first) / 1_000 + 2) this.say('8 progress', `${after.id}: stored too often`);
    if (after.runUntil !== undefined && (after.watchUntil ?? 0) > Math.max(after.runUntil, now) + 5_000) {
      this.say('7 truth', `${after.id}: watched past its deadline`);
    }
  }

  /** Parked although the vendor works on it, in time, and says so. */
  #flaggedWhileRunning(before: Job, after: Job): void {
    if (after.flag?.code === 'vendor_job_conflict' || this.isLenient) return;
    const vendor = this.#simulation.vendor(before.vendor);
    const run = vendor.run(before.vendorJobId ?? '');
    const inTime = this.#simulation.timeline.now() + 5_000 < (before.runUntil ?? 0);
    if (run?.status === 'running' && inTime && !vendor.hasForgotten)
      this.say('7 truth', `${before.id} ran well, and is parked`);
  }

  #accepted(after: Job<'running'>): void {
    const run = this.#simulation.vendor(after.vendor).run(after.vendorJobId);
    if (run?.key !== `${after.id}.${after.generation}`) this.say('7 truth', `${after.id} runs as ${run?.key}`);
  }

  #rememberAnnouncement(before: Job, after: Job): void {
    if (before.state === after.state) return;
    this.#flagsThatStood(before);
    if (!isTerminal(after.state) && after.state !== 'needs_attention') return;
    const due = { id: `${after.id}.${after.version}`, at: this.#simulation.timeline.now() };
    this.#announceable.set(after.id, [...(this.#announceable.get(after.id) ?? []), due]);
  }

  /** Told by the next tick, whatever becomes of it afterwards; a few of them may have died. */
  #flagsThatStood({ id, state }: Job): void {
    const due = this.#announceable.get(id)?.at(-1);
    if (state !== 'needs_attention' || due === undefined || this.isLenient) return;
    const stoodMs = this.#simulation.timeline.now() - due.at;
    const isTold = this.#simulation.announcements.some((announcement) => announcement.id === due.id);
    if (stoodMs > this.longestLeakMs && !isTold)
      this.say('11 announced', `${id} was parked for ${stoodMs} ms, and nobody was told (${due.id})`);
  }

  /** At the end of a run, when nothing goes wrong any more and ticks have come and gone. */
  judge(): void {
    for (const job of this.#simulation.jobs.all()) {
      this.#judgeEnd(job);
      if (!this.isLenient) this.#judgeTruth(job);
      this.#judgeAnnouncements(job);
    }
    for (const lane of Object.keys(this.#simulation.setup.caps)) this.#judgeHolds(lane);
    for (const amiss of this.#simulation.tables.amiss()) this.say('kept', amiss);
    if (!this.isLenient) this.#judgeMessages();
  }

  /** What a client is shown was so: it can go by the version, and never goes back in time. */
  #judgeMessages(): void {
    for (const message of this.#simulation.messages) {
      if (message.type !== 'job') continue;
      const { id, version, state } = message.job;
      const stored = this.#stored.get(`${id}.${version}`) ?? 'queued';
      if (state !== stored)
        this.say('9 followers', `${id} was shown ${state} at version ${version}, and was ${stored}`);
    }
  }

  #judgeEnd(job: Job): void {
    if (isTerminal(job.state)) return;
    if (job.state === 'queued' && this.#isLeftToAPerson(job.lane)) return;
    if (job.state !== 'needs_attention') this.say('6 ends', `${job.id} is ${job.state} in the end`);
  }

  /** Every unit is held by what only a person can settle, since the vendor can't say how long it may run. */
  #isLeftToAPerson(name: string): boolean {
    const { lanes, jobs } = this.#simulation;
    const lane = lanes.get(name);
    const parked = jobs.all().filter(({ state, hold, vendor }) => {
      const { maxLifeMs } = this.#simulation.vendor(vendor).traits;
      return state === 'needs_attention' && hold !== undefined && maxLifeMs === undefined;
    });
    return parked.length >= lane.cap;
  }

  #judgeTruth(job: Job): void {
    const vendor = this.#simulation.vendor(job.vendor);
    const runs = vendor.runs.filter(({ key }) => key === `${job.id}.${job.generation}`);
    const run = runs[0];
    switch (job.state) {
      case 'succeeded':
        if (run?.status !== 'succeeded')
          this.say('7 truth', `${job.id} succeeded, its run ${run?.status ?? 'never was'}`);
        if (!this.#hasCopies(job)) this.say('7 truth', `${job.id} succeeded without our own copy`);
        if (job.progress?.percent !== 100) this.say('8 progress', `${job.id} succeeded at ${job.progress?.percent}%`);
        return;
      case 'failed':
        if (job.failure.code === 'failed_by_operator') return;
        if (job.failure.code === 'refused_by_vendor' && !vendor.refused.has(`${job.id}.${job.generation}`)) {
          this.say('7 truth', `${job.id} is refused, and nobody refused this generation of it`);
        }
        if (run !== undefined && run.status !== 'failed') {
          this.say('7 truth', `${job.id} failed (${job.failure.code}), its run ${run.status}`);
        }
        return;
      case 'canceled':
        if (run !== undefined && run.status !== 'canceled')
          this.say('7 truth', `${job.id} canceled, its run ${run.status}`);
        return;
      case 'needs_attention':
        return this.#judgeFlag(job, run, vendor);
      default:
    }
  }

  #hasCopies({ id, results }: Job): boolean {
    if (this.#erased.some((prefix) => prefix.includes(id))) return true;
    const { keys } = this.#simulation.files;
    return results.length > 0 && results.every(({ key }) => keys.includes(key));
  }

  /** Parked is right only where the truth can't be asked for. */
  #judgeFlag(job: Job<'needs_attention'>, run: VendorRun | undefined, vendor: SimulatedVendor): void {
    const isFetchable = vendor.setup.unfetchable === undefined && job.flag.code !== 'result_lost';
    if (job.flag.code === 'vendor_job_conflict' || !isFetchable || vendor.forgets || vendor.isDown) return;
    const canFind = vendor.traits.dedupe === 'lookup' || vendor.traits.dedupe === 'reject';
    const isKnown = job.vendorJobId !== undefined || canFind;
    if (run !== undefined && run.status !== 'running' && isKnown) {
      this.say('7 truth', `${job.id} is parked (${job.flag.code}), its run ${run.status}`);
    }
    const isHeard = vendor.setup.webhooks === 'reliable' && !this.#simulation.hasBeenDeaf;
    if (run?.callbackUrl !== undefined && isHeard) {
      this.say('7 truth', `${job.id} is parked (${job.flag.code}) in spite of its webhooks`);
    }
  }

  #judgeAnnouncements(job: Job): void {
    const published = new Set(this.#simulation.announcements.map(({ id }) => id));
    const last = this.#announceable.get(job.id)?.at(-1);
    if (last !== undefined && !published.has(last.id) && stands(job)) {
      this.say('11 announced', `${job.id} is ${job.state}, and nobody was told (${last.id})`);
    }
    for (const { id, job: told } of this.#simulation.announcements) {
      if (!isTerminal(told.state) && told.state !== 'needs_attention') {
        this.say('11 announced', `${id} was announced as ${told.state}`);
      }
    }
  }

  #judgeHolds(name: string): void {
    const { lanes, jobs, timeline } = this.#simulation;
    const now = timeline.now();
    for (const [token, unit] of Object.entries(lanes.get(name).held)) {
      const job = jobs.all().find(({ hold }) => hold?.token === token);
      if (job === undefined) this.say('3 holds', `${token} of ${unit.jobId} leaked`);
      if (job === undefined || (job.state !== 'needs_attention' && job.state !== 'failed')) continue;
      const until = cantBeRunningFrom(job, this.#simulation.vendor(job.vendor).traits);
      if (until !== undefined && now > until + 2 * tickMs)
        this.say('3 holds', `${job.id} (${job.state}) holds for ever`);
    }
  }
}

function stands(job: Job): boolean {
  return isTerminal(job.state) || job.state === 'needs_attention';
}

function outcomeOf({ state, finishedAt, results, failure, generation }: Job) {
  return { state, finishedAt, results, failure, generation };
}
