import type { Upload, UploadStore } from '../../lambdas/domain/upload.ts';

/** Upload records in memory; they never go by themselves. */
export class MemoryUploadStore implements UploadStore {
  readonly #uploads = new Map<string, Upload>();

  async put(upload: Upload): Promise<void> {
    this.#uploads.set(upload.id, upload);
  }

  async read(id: string): Promise<Upload | undefined> {
    return this.#uploads.get(id);
  }
}
