import { GetItemCommand, PutItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import type { Upload, UploadStore } from '../domain/upload.ts';
import { plain } from './conditional-write.ts';
import { keyItem, type Key } from './item.ts';

/** A record stays this long after its upload expired: a late retry is then told so, and found by its hash. */
const keptMs = 86_400_000;

const uploadItem = z.object({
  id: z.string(),
  uploadOwner: z.string(),
  contentType: z.string(),
  bytes: z.number(),
  sha256: z.string().optional(),
  uploadedAt: z.number(),
  expiresAt: z.number(),
});

/** Records of presigned uploads in the one table. */
export class DynamoUploadStore implements UploadStore {
  readonly #client: DynamoDBClient;
  readonly #table: string;

  constructor(client: DynamoDBClient, tableName: string) {
    this.#client = client;
    this.#table = tableName;
  }

  async put({ owner, createdAt, ...rest }: Upload): Promise<void> {
    // Under other names than a job's `owner` and `createdAt`: with those it would be in the list of its owner's jobs.
    const stored: z.infer<typeof uploadItem> = { ...rest, uploadOwner: owner, uploadedAt: createdAt };
    const ttl = Math.ceil((rest.expiresAt + keptMs) / 1000);
    const Item = marshall({ ...uploadKey(rest.id), ...stored, ttl }, { removeUndefinedValues: true });
    await this.#client.send(new PutItemCommand({ TableName: this.#table, Item }));
  }

  async read(id: string): Promise<Upload | undefined> {
    const { Item } = await this.#client.send(
      new GetItemCommand({ TableName: this.#table, Key: keyItem(uploadKey(id)), ConsistentRead: true }),
    );
    if (Item === undefined) return undefined;
    const { uploadOwner, uploadedAt, contentType, bytes, sha256, expiresAt } = uploadItem.parse(plain(Item));
    return { id, owner: uploadOwner, contentType, bytes, sha256, createdAt: uploadedAt, expiresAt };
  }
}

function uploadKey(id: string): Key {
  return { pk: `upload#${id}`, sk: 'upload' };
}
