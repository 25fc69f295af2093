import path from 'node:path';
import * as z from 'zod';
import type { CloudAssembly } from '../assembly/cloud-assembly.ts';
import { bucketCorsSchema } from '../stores/s3-cors.ts';
import { lifecycleSchema } from '../stores/s3-lifecycle.ts';
import { CredentialIssuer } from '../stores/credentials.ts';
import { DynamoStore, tableSchema } from '../stores/dynamo.ts';
import { EventStore } from '../stores/events.ts';
import { S3Store } from '../stores/s3.ts';
import { SecretStore, secretSchema } from '../stores/secrets.ts';
import { QueueStore, queueSchema, type QueueDefinition } from '../stores/sqs.ts';
import type { CallLedger } from './calls.ts';
import { resourcesOfType } from './identity.ts';
import type { Permissions } from './permissions.ts';
import type { Resolver } from './resolve.ts';

/** Everything that keeps state, each behind its own AWS protocol. */
export interface Stores {
  readonly issuer: CredentialIssuer;
  readonly dynamo: DynamoStore;
  readonly queues: QueueStore;
  readonly s3: S3Store;
  readonly secrets: SecretStore;
  readonly events: EventStore;
}

const bucketSchema = z.object({
  CorsConfiguration: bucketCorsSchema.optional(),
  LifecycleConfiguration: lifecycleSchema.optional(),
});

export interface StoresOptions {
  readonly dataFolder: string;
  readonly region: string;
  readonly permissions: () => Permissions;
  readonly calls: CallLedger;
}

export async function startStores({ dataFolder, region, permissions, calls }: StoresOptions): Promise<Stores> {
  const issuer = await CredentialIssuer.open(dataFolder);
  const [dynamo, queues, secrets, events] = await Promise.all([
    DynamoStore.start(path.join(dataFolder, 'dynamo'), calls),
    QueueStore.start(region, permissions, calls),
    SecretStore.start({ dataFolder, permissions, calls }),
    EventStore.start({ dataFolder, region, permissions, calls }),
  ]);
  const s3 = new S3Store({ folder: path.join(dataFolder, 's3'), issuer, permissions, calls });
  return { issuer, dynamo, queues, s3, secrets, events };
}

export async function stopStores(stores: Stores): Promise<void> {
  await Promise.all([stores.dynamo.stop(), stores.queues.stop(), stores.secrets.stop(), stores.events.stop()]);
}

/** Creates what the template declares and the data folder lacks. @returns the queues by name, for their mappings. */
export async function deployStores(
  stores: Stores,
  assembly: CloudAssembly,
  resolver: Resolver,
): Promise<ReadonlyMap<string, QueueDefinition>> {
  for (const table of resourcesOfType(assembly, 'AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable')) {
    const definition = tableSchema.parse(resolver.properties(table));
    await stores.dynamo.ensureTable(resolver.identity(table).ref, definition);
  }
  for (const bucket of resourcesOfType(assembly, 'AWS::S3::Bucket')) {
    const { CorsConfiguration, LifecycleConfiguration } = bucketSchema.parse(resolver.properties(bucket));
    const rules = { cors: CorsConfiguration, lifecycle: LifecycleConfiguration };
    await stores.s3.addBucket(resolver.identity(bucket).ref, rules);
  }
  await stores.s3.expire(Date.now());
  for (const secret of resourcesOfType(assembly, 'AWS::SecretsManager::Secret')) {
    await stores.secrets.ensure(resolver.identity(secret).ref, secretSchema.parse(resolver.properties(secret)));
  }
  for (const bus of resourcesOfType(assembly, 'AWS::Events::EventBus')) {
    stores.events.addBus(resolver.identity(bus).ref);
  }
  const queues = new Map<string, QueueDefinition>();
  for (const queue of resourcesOfType(assembly, 'AWS::SQS::Queue')) {
    const { QueueName = '' } = resolver.identity(queue).attributes;
    queues.set(QueueName, queueSchema.parse(resolver.properties(queue)));
  }
  // A redrive policy names a queue that must exist.
  const deadLettersFirst = [...queues].toSorted(
    ([, a], [, b]) => Number(a.RedrivePolicy !== undefined) - Number(b.RedrivePolicy !== undefined),
  );
  for (const [name, definition] of deadLettersFirst) stores.queues.createQueue(name, definition);
  return queues;
}
