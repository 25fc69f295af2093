import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Upload, UploadStore } from '../../lambdas/domain/upload.ts';
import { DynamoUploadStore } from '../../lambdas/store/dynamo-upload-store.ts';
import { MemoryUploadStore } from '../fakes/memory-upload-store.ts';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';
import { noon } from '../fixtures/stored-job.ts';

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

const upload: Upload = {
  id: 'upload-1',
  owner: 'acme%20inc/ann',
  contentType: 'image/jpeg',
  bytes: 4_500_000,
  sha256: 'c4'.repeat(32),
  createdAt: noon,
  expiresAt: noon + 900_000,
};

describe.each<[string, () => Promise<UploadStore>]>([
  ['MemoryUploadStore', async () => new MemoryUploadStore()],
  ['DynamoUploadStore', async () => new DynamoUploadStore(dynamo.client, await dynamo.createTable())],
])('%s', (_, create) => {
  let store: UploadStore;
  beforeEach(async () => {
    store = await create();
  });

  it('reads a record as it was put', async () => {
    expect(await store.read(upload.id)).toBeUndefined();
    await store.put(upload);
    await store.put({ ...upload, id: 'upload-2', sha256: undefined });
    expect(await store.read('upload-1')).toEqual(upload);
    expect(await store.read('upload-2')).toEqual({ ...upload, id: 'upload-2', sha256: undefined });
  });
});
