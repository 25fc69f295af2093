import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../e2e/harness/studio.ts';
import type { Random } from './random.ts';
import type { Scene } from './scene.ts';

/** Everything that goes wrong, by a seed. One thing at a time is begun; what it causes overlaps. */
export class Mischief {
  readonly counts = new Map<string, number>();
  readonly #scene: Scene;
  readonly #random: Random;

  constructor(scene: Scene, random: Random) {
    this.#scene = scene;
    this.#random = random;
  }

  async until(endMs: number): Promise<void> {
    // Whatever the seed says, the worst happens once.
    const sure = [
      () => this.#killWorkers(),
      () => this.#crashGateway(),
      () => this.#crashStudio(),
      // What only a person can settle: a request that nobody got, and one whose receipts are all lost.
      () => this.#play({ point: 'submit', fault: 'drop-before-accept', feature: 'stylize', times: 1 }),
      () => this.#play({ point: 'webhook', fault: 'silent', feature: 'stylize', times: 4 }),
      () => this.#play({ point: 'submit', fault: 'drop-after-accept', feature: 'stylize', times: 1 }),
    ];
    while (performance.now() < endMs) {
      const next = sure.shift();
      await (next === undefined ? this.#any() : next());
      await pause(this.#random.between(300, 2_500));
    }
  }

  async #any(): Promise<void> {
    const lot = this.#random.next();
    if (lot < 0.2) return await this.#killWorkers();
    if (lot < 0.24) return await this.#crashGateway();
    if (lot < 0.27) return await this.#crashStudio();
    await this.#play(this.#fault());
  }

  async #killWorkers(): Promise<void> {
    this.#count('workers killed', await this.#scene.runtime.killWorkers());
  }

  async #crashGateway(): Promise<void> {
    this.#count('gateway crashes');
    await this.#scene.crashGateway(this.#random.between(0, 3_000));
  }

  async #crashStudio(): Promise<void> {
    this.#count('vendor crashes');
    await this.#scene.crashStudio(this.#random.between(0, 3_000));
  }

  async #play(fault: Fault): Promise<void> {
    this.#count(`${fault.point} ${fault.fault}`);
    await this.#scene.studio.fault(fault);
  }

  #fault(): Fault {
    const random = this.#random;
    const times = random.whole(1, 3);
    switch (random.pick(['submit', 'submit', 'submit', 'run', 'status', 'events', 'webhook', 'result'] as const)) {
      case 'submit':
        return this.#submitFault(times);
      case 'run':
        return random.chance(0.8)
          ? { point: 'run', fault: 'slow', seconds: random.whole(2, 8), times }
          : { point: 'run', fault: 'fail', seconds: 1, times: 1 };
      case 'status':
        return random.chance(0.3)
          ? { point: 'status', fault: 'status', status: random.pick([500, 503, 429]), retryAfter: 1, times }
          : { point: 'status', fault: random.pick(['silent', 'drop', 'garbage-2xx'] as const), times };
      case 'events':
        return { point: 'events', fault: random.pick(['silent', 'drop', 'repeat', 'reorder'] as const), times };
      case 'webhook':
        return random.chance(0.3)
          ? { point: 'webhook', fault: 'delay', seconds: random.whole(1, 10), times }
          : { point: 'webhook', fault: random.pick(['silent', 'drop', 'repeat', 'reorder'] as const), times };
      case 'result':
        return random.chance(0.5)
          ? { point: 'result', fault: 'status', status: 503, times: 1 }
          : { point: 'result', fault: 'drop', times: 1 };
    }
  }

  #submitFault(times: number): Fault {
    const random = this.#random;
    const lot = random.next();
    if (lot < 0.2) return { point: 'submit', fault: 'status', status: 429, retryAfter: random.whole(1, 3), times };
    if (lot < 0.3) return { point: 'submit', fault: 'delay', seconds: random.whole(1, 3), times };
    // Each of these parks a `stylize` with its unit until a person comes: too many, and nothing moves any more.
    const feature = random.chance(0.75) ? 'upscale' : 'stylize';
    if (lot < 0.5) {
      const accept = random.chance(0.5);
      return { point: 'submit', fault: 'status', status: random.pick([500, 502, 503, 408]), accept, feature, times };
    }
    const silent = ['silent', 'silent-after-accept'] as const;
    const lost = ['drop-after-accept', 'drop-before-accept', 'garbage-2xx', 'no-id-2xx'] as const;
    return { point: 'submit', fault: random.pick([...lost, ...lost, ...silent]), feature, times };
  }

  #count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }
}
