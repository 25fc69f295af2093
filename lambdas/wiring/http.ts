import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createCatalogue } from '../catalogue/features.ts';
import type { Catalogue } from '../domain/catalogue.ts';
import type { ShowJobWorld } from '../domain/show-job.ts';
import { createAuthenticator, type Authenticator } from '../http/authenticate.ts';
import { createClientTokens } from '../issuers/client-tokens.ts';
import { createOidcVerifier } from '../issuers/oidc.ts';
import { systemClock, systemWaiting } from '../runtime/clock.ts';
import type { CreateClientTokenEnvironment, OperateLanesEnvironment, ReadJobEnvironment } from '../runtime/env.ts';
import { createLog, type Log } from '../runtime/log.ts';
import { createSecret, signingSecret, vendorSecret, type Secret, type SigningSecret } from '../runtime/secrets.ts';
import { createDynamo } from '../store/dynamo.ts';
import { DynamoAccessStore } from '../store/dynamo-access-store.ts';
import { DynamoJobIndex } from '../store/dynamo-job-index.ts';
import { DynamoJobStore } from '../store/dynamo-job-store.ts';
import { DynamoLaneStore } from '../store/dynamo-lane-store.ts';
import { S3FileStore } from '../store/s3-file-store.ts';
import { createVendors } from '../vendors/registry.ts';

/** What every function that knows its caller is made of. */
export interface HttpWiring {
  readonly clock: typeof systemClock;
  readonly log: Log;
  readonly dynamo: DynamoDBClient;
  readonly access: DynamoAccessStore;
  readonly signing: Secret<SigningSecret>;
  readonly clientTokens: ReturnType<typeof createClientTokens>;
  readonly authenticator: Authenticator;
}

export function wireHttp(
  env: Pick<OperateLanesEnvironment, 'ENVIRONMENT' | 'TABLE_NAME' | 'SIGNING_SECRET_ARN' | 'ISSUERS'>,
  functionName: string,
): HttpWiring {
  const clock = systemClock;
  const log = createLog({ environment: env.ENVIRONMENT, function: functionName, clock });
  const dynamo = createDynamo();
  const access = new DynamoAccessStore(dynamo, env.TABLE_NAME);
  const signing = createSecret(env.SIGNING_SECRET_ARN, signingSecret, { clock });
  const clientTokens = createClientTokens({ secret: signing, clock });
  const tokens = [clientTokens, createOidcVerifier({ issuers: env.ISSUERS, clock })];
  const authenticator = createAuthenticator({ access, tokens, clock, log });
  return { clock, log, dynamo, access, signing, clientTokens, authenticator };
}

/** The vendors are asked for nothing here but the version of their adapters: no secret is read. */
export function wireCatalogue({
  FEATURES,
  VENDORS,
}: Pick<CreateClientTokenEnvironment, 'FEATURES' | 'VENDORS'>): Catalogue {
  const vendors = createVendors(VENDORS, {
    clock: systemClock,
    waiting: systemWaiting,
    secretOf: (arn) => createSecret(arn, vendorSecret, { clock: systemClock }),
  });
  return createCatalogue(FEATURES, (vendor) => vendors.named(vendor)?.version);
}

export interface ShowWiring extends ShowJobWorld {
  readonly jobs: DynamoJobStore;
  readonly index: DynamoJobIndex;
  readonly lanes: DynamoLaneStore;
  readonly files: S3FileStore;
}

/** What it takes to show a job. */
export function wireShow(
  env: Pick<ReadJobEnvironment, 'TABLE_NAME' | 'BUCKET_NAME' | 'LANES' | 'FEATURES' | 'VENDORS'>,
  dynamo: DynamoDBClient,
): ShowWiring {
  const caps = Object.fromEntries(Object.entries(env.LANES).map(([lane, { cap }]) => [lane, cap]));
  return {
    jobs: new DynamoJobStore(dynamo, env.TABLE_NAME),
    index: new DynamoJobIndex(dynamo, env.TABLE_NAME),
    lanes: new DynamoLaneStore(dynamo, env.TABLE_NAME, caps),
    files: new S3FileStore({ bucket: env.BUCKET_NAME, clock: systemClock, waiting: systemWaiting }),
    catalogue: wireCatalogue(env),
    prices: (vendor) => env.VENDORS[vendor]?.price,
    clock: systemClock,
  };
}
