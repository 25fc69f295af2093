import type { Tokens } from '../../lambdas/domain/ports.ts';

/** `token-1`, `token-2`, …: unique within one instance, and the same in every run. */
export class CountingTokens implements Tokens {
  readonly #prefix: string;
  #count = 0;

  constructor(prefix = 'token') {
    this.#prefix = prefix;
  }

  next(): string {
    this.#count += 1;
    return `${this.#prefix}-${this.#count}`;
  }
}
