import type { ShownProgress } from './follow.ts';

const width = 30;

/** One line that is rewritten on a terminal; one line per value elsewhere. */
export class ProgressBar {
  readonly #out: NodeJS.WriteStream;
  #values = 0;
  #last = '';

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  /** How many different values were shown. */
  get values(): number {
    return this.#values;
  }

  show({ status, percent, stage }: ShownProgress): void {
    const filled = Math.round((percent / 100) * width);
    const bar = '█'.repeat(filled) + '░'.repeat(width - filled);
    const line = `${bar} ${String(Math.round(percent)).padStart(3)} %  ${status}${stage === null ? '' : `, ${stage}`}`;
    if (line === this.#last) return;
    this.#last = line;
    this.#values += 1;
    this.#out.write(this.#out.isTTY ? `\r\x1b[2K${line}` : `${line}\n`);
  }

  end(): void {
    if (this.#out.isTTY) this.#out.write('\n');
  }
}
