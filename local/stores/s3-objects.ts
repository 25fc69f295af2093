import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';

const recordSchema = z.object({
  key: z.string(),
  bytes: z.number(),
  etag: z.string(),
  contentType: z.string(),
  /** `x-amz-meta-…`, `cache-control` and their like: what a GET gives back. */
  headers: z.record(z.string(), z.string()),
  modifiedAtMs: z.number(),
  file: z.string(),
});

export type ObjectRecord = Readonly<z.infer<typeof recordSchema>>;

export interface NewObject {
  readonly key: string;
  readonly content: Buffer;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The objects of one bucket as files. Content is written under a name of its own and becomes an object when its record is
 * renamed into place, so a process that is killed leaves the old object or the new one, never half of either.
 */
export class ObjectFiles {
  readonly #folder: string;
  readonly #records: Map<string, ObjectRecord>;

  private constructor(folder: string, records: Map<string, ObjectRecord>) {
    this.#folder = folder;
    this.#records = records;
  }

  static async open(folder: string): Promise<ObjectFiles> {
    await mkdir(folder, { recursive: true });
    const names = await readdir(folder);
    const records = new Map<string, ObjectRecord>();
    for (const name of names.filter((one) => one.endsWith('.json'))) {
      const record = recordSchema.parse(JSON.parse(await readFile(path.join(folder, name), 'utf8')));
      records.set(record.key, record);
    }
    const kept = new Set([...records.values()].flatMap((record) => [record.file, recordName(record.key)]));
    await Promise.all(names.filter((name) => !kept.has(name)).map((name) => rm(path.join(folder, name))));
    return new ObjectFiles(folder, records);
  }

  find(key: string): ObjectRecord | undefined {
    return this.#records.get(key);
  }

  /** Records whose key starts with the prefix, in key order. */
  list(prefix: string): ObjectRecord[] {
    return [...this.#records.values()]
      .filter((record) => record.key.startsWith(prefix))
      .toSorted((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  }

  async read(record: ObjectRecord): Promise<Buffer> {
    return await readFile(path.join(this.#folder, record.file));
  }

  /** @returns undefined where `only` no longer held once the content was on disk: another writer came first. */
  async put(
    object: NewObject,
    only: (existing: ObjectRecord | undefined) => boolean,
  ): Promise<ObjectRecord | undefined> {
    const record: ObjectRecord = {
      key: object.key,
      bytes: object.content.length,
      etag: createHash('md5').update(object.content).digest('hex'),
      contentType: object.contentType,
      headers: { ...object.headers },
      modifiedAtMs: Date.now(),
      file: `${randomUUID()}.content`,
    };
    await writeFile(path.join(this.#folder, record.file), object.content);
    const replaced = this.#records.get(object.key);
    if (!only(replaced)) {
      await rm(path.join(this.#folder, record.file));
      return undefined;
    }
    this.#records.set(object.key, record);
    const temporary = path.join(this.#folder, `${randomUUID()}.new`);
    await writeFile(temporary, JSON.stringify(record));
    await rename(temporary, path.join(this.#folder, recordName(object.key)));
    if (replaced !== undefined) await rm(path.join(this.#folder, replaced.file), { force: true });
    return record;
  }

  async delete(key: string): Promise<void> {
    const record = this.#records.get(key);
    if (record === undefined) return;
    this.#records.delete(key);
    await rm(path.join(this.#folder, recordName(key)), { force: true });
    await rm(path.join(this.#folder, record.file), { force: true });
  }
}

const recordName = (key: string) => `${createHash('sha256').update(key).digest('hex')}.json`;
