import { createUploadRoute } from '../http/create-upload.ts';
import { httpHandler } from '../http/entry.ts';
import { systemWaiting } from '../runtime/clock.ts';
import { createUploadEnvironment, readEnvironment } from '../runtime/env.ts';
import { systemTokens } from '../runtime/tokens.ts';
import { DynamoOwnerStore } from '../store/dynamo-owner-store.ts';
import { DynamoUploadStore } from '../store/dynamo-upload-store.ts';
import { S3FileStore } from '../store/s3-file-store.ts';
import { wireCatalogue, wireHttp } from '../wiring/http.ts';

const env = readEnvironment(createUploadEnvironment);
const wiring = wireHttp(env, 'create-upload');
const { clock, dynamo, authenticator } = wiring;
const world = {
  clock,
  uploads: new DynamoUploadStore(dynamo, env.TABLE_NAME),
  files: new S3FileStore({ bucket: env.BUCKET_NAME, clock, waiting: systemWaiting }),
  owners: new DynamoOwnerStore(dynamo, env.TABLE_NAME),
  limits: env.LIMITS,
  catalogue: wireCatalogue(env),
  tokens: systemTokens,
};

export const handler = httpHandler(createUploadRoute({ authenticator, world }), wiring);
