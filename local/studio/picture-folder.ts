import { mkdirSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** The pictures of the jobs, as files. What was saved survives a crash once the promise is fulfilled. */
export class PictureFolder {
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = join(dataDir, 'pictures');
    mkdirSync(this.#folder, { recursive: true });
  }

  async saveInput(jobId: string, picture: Uint8Array): Promise<void> {
    await this.#save(`${jobId}.input`, picture);
  }

  async saveResult(jobId: string, picture: Uint8Array): Promise<void> {
    await this.#save(`${jobId}.result`, picture);
  }

  async readInput(jobId: string): Promise<Buffer> {
    return readFile(join(this.#folder, `${jobId}.input`));
  }

  async readResult(jobId: string): Promise<Buffer> {
    return readFile(join(this.#folder, `${jobId}.result`));
  }

  async drop(jobId: string): Promise<void> {
    await rm(join(this.#folder, `${jobId}.input`), { force: true });
    await rm(join(this.#folder, `${jobId}.result`), { force: true });
  }

  /** Written aside and renamed, so that a crash leaves the whole picture or none; then the folder's entry is synced. */
  async #save(name: string, picture: Uint8Array): Promise<void> {
    const path = join(this.#folder, name);
    const file = await open(`${path}.partial`, 'w');
    try {
      await file.writeFile(picture);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.partial`, path);
    const folder = await open(this.#folder, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}
