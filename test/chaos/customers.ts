import { setTimeout as pause } from 'node:timers/promises';
import type { JobBody } from '../../lambdas/http/job-body.ts';
import { drawPicture } from '../e2e/harness/pictures.ts';
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

/** People who tap: each action is sent until it is answered, sometimes twice, and a few are canceled. */
export class Customers {
  readonly actions: Action[] = [];
  /** What no gateway may ever do to a customer. */
  readonly complaints: string[] = [];
  readonly #scene: Scene;
  readonly #random: Random;
  readonly #seen = new Map<string, JobBody>();

  constructor(scene: Scene, random: Random) {
    this.#scene = scene;
    this.#random = random;
  }

  /** So many actions, spread over the time; ends when each was answered. */
  async tap(jobs: number, durationMs: number): Promise<void> {
    const startedAtMs = performance.now();
    const untilMs = startedAtMs + durationMs + 120_000;
    const pictures = await Promise.all([1, 2, 3, 4, 5].map((number) => drawPicture(number)));
    const taps = Array.from({ length: jobs }, async (_, index) => {
      const dueMs = this.#random.between(0, durationMs);
      const action = {
        key: `tap-${index}`,
        user: `user-${index % users}`,
        feature: this.#random.chance(0.5) ? 'upscale' : 'stylize',
        picture: this.#random.pick(pictures),
      } as const;
      const runSeconds = this.#random.between(0.5, 3);
      const isRepeated = this.#random.chance(0.2);
      const isCanceled = this.#random.chance(0.05);
      await pause(dueMs);
      // Its picture takes its time. Nobody there to be told: then some picture is quick.
      await this.#scene.studio
        .fault({ point: 'run', fault: 'slow', seconds: runSeconds, times: 1 })
        .catch(() => undefined);
      await this.#act(action, isRepeated, isCanceled, untilMs);
    });
    await Promise.all(taps);
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
      if (answer === undefined) return void this.complaints.push(`${key}: never answered`);
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

  /** Reads every job once; a customer never sees one go back in time. Unreachable: what was seen last. */
  async look(): Promise<readonly JobBody[]> {
    for (const { id, user } of this.actions.values()) {
      const before = this.#seen.get(id);
      if (before?.done) continue;
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
