/** One sandbox at work: it can die between any two effects, and then nothing more comes of it. */
export class Actor {
  readonly name: string;
  /** How far its clock is off. */
  readonly skewMs: number;
  /** Resolves when it dies. */
  readonly death: Promise<'died'>;
  #isDead = false;
  #die: (how: 'died') => void = () => undefined;

  constructor(name: string, skewMs = 0) {
    this.name = name;
    this.skewMs = skewMs;
    this.death = new Promise((resolve) => {
      this.#die = resolve;
    });
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  kill(): void {
    this.#isDead = true;
    this.#die('died');
  }
}

/** What a dead sandbox waits for. */
export async function never(): Promise<never> {
  return await new Promise<never>(() => undefined);
}
