import { setTimeout as pause } from 'node:timers/promises';
import type { Customers } from './customers.ts';
import type { Random } from './random.ts';
import type { Scene } from './scene.ts';
import { StruckFaults, type CountedFault } from './struck-faults.ts';

export interface Crashes {
  workers: number;
  gateways: number;
  vendors: number;
}

/** The first crowd fills the lane before the first blow. */
const peaceMs = 4_000;

/** Everything that goes wrong, by a seed. One thing at a time is begun; what it causes overlaps. */
export class Mischief {
  readonly crashes: Crashes = { workers: 0, gateways: 0, vendors: 0 };
  readonly struck: StruckFaults;
  readonly #scene: Scene;
  readonly #customers: Customers;
  readonly #random: Random;

  constructor(scene: Scene, customers: Customers, random: Random) {
    this.#scene = scene;
    this.#customers = customers;
    this.#random = random;
    this.struck = new StruckFaults(scene.studio);
  }

  async until(endMs: number): Promise<void> {
    // Whatever the seed says, each of these happens once, and the vendor forgets no fault of theirs in a crash.
    const sure = [
      () => this.#killWorker(),
      () => this.#crashGateway(),
      () => this.#crashStudio(),
      // What only a person can settle: a request that nobody got, and one whose receipts are all lost.
      () => this.#play({ point: 'submit', fault: 'drop-before-accept', feature: 'stylize', times: 1 }),
      () => this.#play({ point: 'webhook', fault: 'silent', feature: 'stylize', times: 4 }),
      () => this.#play({ point: 'submit', fault: 'drop-after-accept', feature: 'stylize', times: 1 }),
      () => this.#play({ point: 'submit', fault: 'status', status: 429, retryAfter: 2, times: 2 }),
      () => this.#play({ point: 'submit', fault: 'silent-after-accept', feature: 'upscale', times: 1 }),
      () => this.#play({ point: 'events', fault: 'silent', times: 3 }),
    ];
    await pause(peaceMs);
    while (performance.now() < endMs) {
      const next = sure.shift();
      await (next === undefined ? this.#any() : next());
      await pause(this.#random.between(300, 2_500));
    }
  }

  /** What is out at the vendor then loses everybody that knew of it, and with the faults everything is over. */
  async lastBlow(): Promise<void> {
    await this.#crashGateway('as deployed');
    await this.struck.count();
    await this.#scene.studio.clearFaults();
    await this.#customers.pace();
  }

  /** A worker that dies takes its unit with it for as long as its lease: too many, and the lane stands still. */
  async #any(): Promise<void> {
    const lot = this.#random.next();
    if (lot < 0.05) return await this.#killWorker();
    if (lot < 0.057) return await this.#crashGateway();
    if (lot < 0.072) return await this.#crashStudio();
    await this.#play(this.#fault());
  }

  async #killWorker(): Promise<void> {
    this.crashes.workers += await this.#scene.runtime.killWorkers(1);
  }

  async #crashGateway(ticks?: 'as deployed'): Promise<void> {
    this.crashes.gateways += 1;
    await this.#scene.crashGateway(this.#random.between(0, 3_000), ticks);
  }

  async #crashStudio(): Promise<void> {
    this.crashes.vendors += 1;
    await this.struck.count();
    await this.#scene.crashStudio(this.#random.between(0, 3_000));
    await this.#customers.pace();
  }

  async #play(fault: CountedFault): Promise<void> {
    await this.struck.post(fault);
  }

  #fault(): CountedFault {
    const random = this.#random;
    const times = random.whole(1, 3);
    switch (random.pick(['submit', 'submit', 'submit', 'status', 'events', 'webhook', 'result'] as const)) {
      case 'submit':
        return this.#submitFault(times);
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

  #submitFault(times: number): CountedFault {
    const random = this.#random;
    const lot = random.next();
    if (lot < 0.2) return { point: 'submit', fault: 'status', status: 429, retryAfter: random.whole(1, 3), times };
    if (lot < 0.3) return { point: 'submit', fault: 'delay', seconds: random.whole(1, 3), times };
    // Each of these parks a `stylize` with its unit until a person comes: too many, and nothing moves any more.
    const whose = random.chance(0.4)
      ? ({ feature: 'upscale', times } as const)
      : ({ feature: 'stylize', times: 1 } as const);
    if (lot < 0.5) {
      const accept = random.chance(0.5);
      return { point: 'submit', fault: 'status', status: random.pick([500, 502, 503, 408]), accept, ...whose };
    }
    const silent = ['silent', 'silent-after-accept'] as const;
    const lost = ['drop-after-accept', 'drop-before-accept', 'garbage-2xx', 'no-id-2xx'] as const;
    return { point: 'submit', fault: random.pick([...lost, ...lost, ...silent]), ...whose };
  }
}
