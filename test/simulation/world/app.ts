import { cancelJob } from '../../../lambdas/domain/cancel-job.ts';
import { followJob } from '../../../lambdas/domain/follow-job.ts';
import { jobIdOf } from '../../../lambdas/domain/idempotency.ts';
import { isTerminal, ownerOf, type Job } from '../../../lambdas/domain/job.ts';
import type { LiveMessage } from '../../../lambdas/domain/ports.ts';
import { submitJob, type SubmitJob, type SubmitOutcome, type SubmitWorld } from '../../../lambdas/domain/submit-job.ts';
import { picture } from './picture.ts';
import type { Random } from './random.ts';
import type { Simulation } from './simulation.ts';
import type { SimulatedWorld } from './world-of.ts';

const againMs = 2_000;

export interface AppSettings {
  readonly simulation: Simulation;
  readonly random: Random;
  readonly user: string;
  readonly catalogue: SubmitWorld['catalogue'];
  readonly limits: SubmitWorld['limits'];
}

interface Shown {
  readonly version: number;
  readonly isDone: boolean;
  readonly percent: number;
}

/**
 * What one user has in the hand: it submits under a key of its own until it is answered, and follows its jobs by a socket
 * that drops now and then. As the contract has it, it drops what is older than what it has.
 */
export class App {
  readonly principal: SubmitJob['principal'];
  /** The ids for which it was told 2xx. */
  readonly accepted = new Set<string>();
  readonly #settings: AppSettings;
  readonly #shown = new Map<string, Shown>();
  #connections = 0;
  #open: string | undefined;
  #hasClosed = false;

  constructor(settings: AppSettings) {
    this.#settings = settings;
    this.principal = { tenant: 'team', user: settings.user, kind: 'client-token', scopes: ['jobs'] };
  }

  get owner(): string {
    return ownerOf(this.principal.tenant, this.principal.user);
  }

  idOf(key: string): string {
    return jobIdOf(this.owner, key);
  }

  /** One action, under one key, however often it takes. */
  async act(key: string, feature: string, parameters: SubmitJob['said']['parameters'] = {}): Promise<void> {
    while (!this.#hasClosed) {
      const answer = await this.#submit(key, feature, parameters);
      if (answer !== undefined && answer.kind !== 'refused') return;
      await this.#settings.simulation.timeline.sleep(againMs + (answer?.kind === 'refused' ? 15_000 : 0));
    }
  }

  cancel(key: string): void {
    void this.#settings.simulation.start('cancel', async (world) => {
      await cancelJob(this.idOf(key), this.principal, { ...world, notAnnounced: () => undefined });
    });
  }

  /** It is put away: it asks for nothing more. */
  close(): void {
    this.#hasClosed = true;
    this.#open = undefined;
  }

  /** Connects, follows, loses its connection, connects again, until it is put away. */
  async follow(): Promise<void> {
    const { random, simulation } = this.#settings;
    while (!this.#hasClosed) {
      await this.connect();
      await simulation.timeline.sleep(5_000 + random.below(150_000));
      this.#open = undefined;
      await simulation.timeline.sleep(random.below(20_000));
    }
  }

  /** A new connection has a new name; the old one's followers are found dead when something is sent to them. */
  async connect(): Promise<void> {
    this.#connections += 1;
    const connectionId = `${this.principal.user}-${this.#connections}`;
    this.#open = connectionId;
    await Promise.all([...this.accepted].map((id) => this.#followOne(id, connectionId)));
  }

  owns(connectionId: string): boolean {
    return connectionId.startsWith(`${this.principal.user}-`);
  }

  /** What comes by the socket, late and in any order; a closed one is told of, and forgotten. */
  async receive(connectionId: string, message: LiveMessage): Promise<void> {
    const { random, simulation } = this.#settings;
    await simulation.timeline.sleep(random.below(400));
    const jobId = message.type === 'job' ? message.job.id : message.jobId;
    if (this.#open !== connectionId) {
      await simulation.start('gone', async (world) => await world.jobs.unfollow(jobId, connectionId));
      return;
    }
    if (simulation.jobOf(jobId)?.owner !== this.owner) this.#say(`${this.owner} is told of ${jobId}`);
    if (message.type === 'job') this.#show(message.job);
    else this.#showProgress(jobId, message.version, message.progress.percent);
  }

  async #followOne(id: string, connectionId: string): Promise<void> {
    const before = this.#shown.get(id);
    await this.#settings.simulation.start('follow', async (world) => {
      const following = await followJob(world.jobs, this.principal, id, connectionId);
      if (following.kind === 'absent') return this.#say(`${id} is absent to its owner`);
      const { job } = following;
      if (job.followers.length > 8) this.#say(`${id} has ${job.followers.length} followers`);
      if (before !== undefined && job.version < before.version) {
        this.#say(`${id} was at version ${before.version}, and after a reconnect at ${job.version}`);
      }
      if (before?.isDone === true && !isTerminal(job.state)) this.#say(`${id} was done, and is ${job.state}`);
      this.#show(job);
    });
  }

  #show(job: Job): void {
    const shown = this.#shown.get(job.id);
    if (shown !== undefined && job.version < shown.version) return;
    const isDone = isTerminal(job.state);
    if (shown?.isDone === true && !isDone) this.#say(`${job.id} was done, and is shown as ${job.state}`);
    this.#shown.set(job.id, { version: job.version, isDone, percent: job.progress?.percent ?? 0 });
  }

  #showProgress(id: string, version: number, percent: number): void {
    const shown = this.#shown.get(id);
    if (shown === undefined || version < shown.version || shown.isDone) return;
    if (percent > 99) this.#say(`${id} is shown at ${percent}% before its end`);
    this.#shown.set(id, { ...shown, version, percent: Math.max(shown.percent, percent) });
  }

  async #submit(key: string, feature: string, parameters: SubmitJob['said']['parameters']) {
    let outcome: SubmitOutcome | undefined;
    await this.#settings.simulation.start('submit', async (world) => {
      const said = { feature, parameters, consent: undefined };
      const command: SubmitJob = {
        principal: this.principal,
        key,
        said,
        picture: { kind: 'bytes', bytes: picture },
        metadata: undefined,
      };
      const id = this.idOf(key);
      const before = this.#settings.simulation.jobOf(id);
      outcome = await submitJob(command, this.#worldOf(world));
      this.#judge(id, before, outcome);
    });
    return outcome;
  }

  #worldOf(world: SimulatedWorld) {
    const { simulation, catalogue, limits } = this.#settings;
    const notices = { notRung: () => undefined, leftoversNotDeleted: () => undefined };
    return { ...world, uploads: simulation.uploads, catalogue, limits, notices };
  }

  #judge(id: string, before: Job | undefined, outcome: SubmitOutcome): void {
    const { watchdog } = this.#settings.simulation;
    if (before !== undefined && outcome.kind === 'refused') {
      watchdog.say('4 one key', `refused (${outcome.refusal.code}), and its job exists`);
    }
    if (outcome.kind !== 'accepted' && outcome.kind !== 'replayed') return;
    if (outcome.job.id !== id) watchdog.say('4 one key', `one key, and jobs ${id} and ${outcome.job.id}`);
    if (outcome.kind === 'accepted' && before !== undefined) watchdog.say('4 one key', `${id} was accepted twice`);
    this.accepted.add(id);
  }

  #say(what: string): void {
    this.#settings.simulation.watchdog.say('9 followers', what);
  }
}
