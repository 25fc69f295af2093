import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';

/** What functions write goes to a file each, as it goes to a log group each on AWS; warnings and errors are shown too. */
export class FunctionOutput {
  readonly #folder: string;
  readonly #show: (line: string) => void;
  readonly #files = new Map<string, WriteStream>();

  private constructor(folder: string, show: (line: string) => void) {
    this.#folder = folder;
    this.#show = show;
  }

  static async open(folder: string, show: (line: string) => void): Promise<FunctionOutput> {
    await mkdir(folder, { recursive: true });
    return new FunctionOutput(folder, show);
  }

  write(functionName: string, chunk: Buffer): void {
    let file = this.#files.get(functionName);
    if (file === undefined) {
      file = createWriteStream(path.join(this.#folder, `${functionName}.log`), { flags: 'a' });
      this.#files.set(functionName, file);
    }
    file.write(chunk);
    for (const line of chunk.toString('utf8').split('\n')) {
      if (line !== '' && isWorthShowing(line)) this.#show(`${functionName}: ${line}`);
    }
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#files.values()].map((file) => new Promise<void>((resolve) => file.end(() => resolve()))),
    );
  }
}

/** A structured line is judged by its level; a line that isn't JSON comes from a crash or a library. */
function isWorthShowing(line: string): boolean {
  try {
    const { level } = JSON.parse(line) as { level?: unknown };
    return typeof level === 'string' && /^(warn|error|fatal)/i.test(level);
  } catch {
    return true;
  }
}
