import type { Simulation } from './simulation.ts';

/** Reserved concurrency of each lane. */
const ceiling = 4;
const usualWorkerShiftMs = 240_000;
const visibilityMs = 250_000;
const maxReceives = 4;

interface Message {
  readonly lane: string;
  readonly hint: string | undefined;
  receives: number;
}

/** The lanes' queues and their workers: at least once, in any order, one ring per sandbox, until the dead letters. */
export class RingQueue {
  /** On their way, or being served. */
  waiting = 0;
  deadLetters = 0;
  readonly #simulation: Simulation;
  readonly #workers = new Map<string, number>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  enqueue(lane: string, hint: string | undefined, delayMs: number): void {
    const { isDeaf, setup, timeline } = this.#simulation;
    if (isDeaf) return;
    this.waiting += 1;
    const message = { lane, hint, receives: 0 };
    timeline.after(delayMs + (setup.ringDelayMs?.() ?? 10), () => void this.#deliver(message));
  }

  async #deliver(message: Message): Promise<void> {
    const simulation = this.#simulation;
    const busy = this.#workers.get(message.lane) ?? 0;
    if (busy >= ceiling || simulation.isClosed) {
      simulation.timeline.after(1_000, () => void this.#deliver(message));
      return;
    }
    this.#workers.set(message.lane, busy + 1);
    message.receives += 1;
    const end = await simulation.start('worker', async (world, actor) => {
      const stop = new AbortController();
      const shiftMs = simulation.setup.workerShiftMs ?? usualWorkerShiftMs;
      const shift = { endsAt: simulation.clockOf(actor).now() + shiftMs, signal: stop.signal };
      const { dispatchJob } = simulation.versionOf('worker');
      await dispatchJob(world, { lane: message.lane, hint: message.hint }, shift);
      stop.abort('over');
    });
    this.#workers.set(message.lane, (this.#workers.get(message.lane) ?? 1) - 1);
    if (end === 'done' || simulation.isDeaf) this.waiting -= 1;
    else if (message.receives >= maxReceives) {
      this.deadLetters += 1;
      this.waiting -= 1;
    } else simulation.timeline.after(visibilityMs, () => void this.#deliver(message));
  }
}
