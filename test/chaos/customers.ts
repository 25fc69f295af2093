import { setTimeout as pause } from 'node:timers/promises';
import type { JobBody } from '../../lambdas/http/job-body.ts';
import { drawPicture } from '../e2e/harness/pictures.ts';
import type { Fault } from '../e2e/harness/studio.ts';
import type { Random } from './random.ts';
import { insist, type Scene } from './scene.ts';

export interface Action {
  readonly key: string;
  readonly user: string;
  readonly feature: 'upscale' | 'stylize';
  /** Of the job that was promised to it. */
  readonly id: string;
}

const users = 10;

/** People come in crowds: half of all taps are in one, and more come at once than any lane here lets in. */
const crowdSize = 12;
const crowdMs = 2_000;

/** A few pictures outlive the lease of a worker that died over them. */
const longRunShare = 0.05;
/** Some show nothing that the vendor could work with. */
const failedShare = 0.05;

export interface Taps {
  readonly jobs: number;
  readonly upscaleShare: number;
  readonly durationMs: number;
}

/** People who tap: each action is sent until it is answered, sometimes twice, and a few are canceled. */
export class Customers {
  readonly actions: Action[] = [];
  /** What no gateway may ever do to a customer. */
  readonly complaints: string[] = [];
  readonly #scene: Scene;
  readonly #random: Random;
  readonly #seen = new Map<string, JobBody>();
  readonly #looked = new Map<string, number>();
  /** How long the picture of each action takes that is not known to be made. */
  readonly #paces = new Map<string, Fault>();

  constructor(scene: Scene, random: Random) {
    this.#scene = scene;
    this.#random = random;
  }

  /** So many actions, spread over the time, a share of them `upscale`; ends when each was answered. */
  async tap({ jobs, upscaleShare, durationMs }: Taps): Promise<void> {
    const untilMs = performance.now() + durationMs + 120_000;
    const pictures = await Promise.all([1, 2, 3, 4, 5].map((number) => drawPicture(number)));
    const upscales = new Set(this.#random.sample(jobs, Math.round(jobs * upscaleShare)));
    const crowds = this.#crowds(jobs, durationMs);
    const taps = Array.from({ length: jobs }, async (_, index) => {
      const dueMs = this.#random.chance(0.5)
        ? this.#random.between(0, durationMs)
        : this.#random.pick(crowds) + this.#random.between(0, crowdMs);
      const action = {
        key: `tap-${index}`,
        user: `user-${index % users}`,
        feature: upscales.has(index) ? 'upscale' : 'stylize',
        picture: this.#random.pick(pictures),
      } as const;
      const run = this.#run(action.feature);
      const isRepeated = this.#random.chance(0.2);
      const isCanceled = this.#random.chance(0.05);
      await pause(dueMs);
      this.#paces.set(action.key, run);
      // Down, it is told when it is up again.
      await this.#tellPace(action.key).catch(() => undefined);
      await this.#act(action, isRepeated, isCanceled, untilMs);
    });
    await Promise.all(taps);
  }

  /** That pictures take their time is a fault to the vendor: it forgets it in a crash, and when its faults are cleared. */
  async pace(): Promise<void> {
    const done = new Set([...this.#seen.values()].filter((job) => job.done).map(({ id }) => id));
    for (const { key, id } of this.actions) if (done.has(id)) this.#paces.delete(key);
    for (const key of this.#paces.keys()) await this.#tellPace(key);
  }

  async #tellPace(key: string): Promise<void> {
    const pace = this.#paces.get(key);
    if (pace !== undefined) await this.#scene.studio.fault(pace);
  }

  /** When they come; the first one at once. */
  #crowds(jobs: number, durationMs: number): number[] {
    const later = Math.floor(jobs / 2 / crowdSize);
    return [0, ...Array.from({ length: later }, () => this.#random.between(0, durationMs - crowdMs))];
  }

  #run(feature: Action['feature']): Fault {
    const intervalSeconds = this.#scene.pace.intervalMs / 1_000;
    const seconds = this.#random.chance(longRunShare)
      ? this.#random.between(0.3, 0.8) * intervalSeconds
      : this.#random.between(1, 4);
    const fault = this.#random.chance(failedShare) ? 'fail' : 'slow';
    return { point: 'run', fault, seconds, feature, times: 1 };
  }

  async #act(
    { key, user, feature, picture }: Omit<Action, 'id'> & { readonly picture: Buffer<ArrayBuffer> },
    isRepeated: boolean,
    isCanceled: boolean,
    untilMs: number,
  ): Promise<void> {
    const api = this.#scene.api.as(user);
    const ids = new Set<string>();
    for (let time = 0; time < (isRepeated ? 2 : 1); time += 1) {
      const answer = await insist(() => api.trySubmit({ feature, picture, key }), untilMs);
      if (typeof answer === 'string') return void this.complaints.push(`${key}: never answered, but ${answer}`);
      if (answer.status !== 202 && answer.status !== 200) {
        return void this.complaints.push(`${key}: refused with ${answer.status} ${answer.text}`);
      }
      ids.add((JSON.parse(answer.text) as JobBody).id);
    }
    const [id = ''] = ids;
    if (ids.size > 1) this.complaints.push(`${key}: one key, two jobs: ${[...ids].join(', ')}`);
    this.actions.push({ key, user, feature, id });
    if (isCanceled) await insist(() => api.send(`/api/v1/jobs/${id}/cancel`, { method: 'POST' }), untilMs);
  }

  /**
   * Reads jobs that are not known to be at their end, `most` of them at a time, in turn; a customer never sees one go back
   * in time. Unreachable: what was seen last.
   */
  async look(most?: number): Promise<readonly JobBody[]> {
    const open = this.actions.filter(({ id }) => this.#seen.get(id)?.done !== true);
    const looks = open.toSorted((a, b) => (this.#looked.get(a.id) ?? 0) - (this.#looked.get(b.id) ?? 0)).slice(0, most);
    for (const { id, user } of looks) {
      this.#looked.set(id, performance.now());
      const before = this.#seen.get(id);
      const now = await this.#scene.api
        .as(user)
        .job(id)
        .catch(() => undefined);
      if (now === undefined) continue;
      if (before !== undefined && now.version < before.version) {
        this.complaints.push(`${id}: version ${before.version}, then ${now.version}`);
      }
      this.#seen.set(id, now);
    }
    return [...this.#seen.values()];
  }
}
