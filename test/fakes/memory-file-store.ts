import type { FileStore, StoredFile } from '../../lambdas/domain/ports.ts';

/** Pictures in memory, copied on the way in and out as a network would. */
export class MemoryFileStore implements FileStore {
  readonly #files = new Map<string, StoredFile>();

  /** In key order. */
  get keys(): readonly string[] {
    return [...this.#files.keys()].toSorted();
  }

  async put(key: string, bytes: Uint8Array, contentType: string): Promise<void> {
    this.#files.set(key, { bytes: bytes.slice(), contentType });
  }

  async get(key: string): Promise<StoredFile | undefined> {
    const file = this.#files.get(key);
    return file === undefined ? undefined : { ...file, bytes: file.bytes.slice() };
  }

  async delete(key: string): Promise<void> {
    this.#files.delete(key);
  }

  async deletePrefix(prefix: string): Promise<number> {
    const going = this.keys.filter((key) => key.startsWith(prefix));
    for (const key of going) this.#files.delete(key);
    return going.length;
  }
}
