import { describe, expect, test } from 'vitest';
import { onlyResource, resourcesOf, templatesOf } from './synthesized.ts';

const table = 'AWS::DynamoDB::Table';
const bucket = 'AWS::S3::Bucket';
const secret = 'AWS::SecretsManager::Secret';

describe('what must survive', () => {
  test('keeps its logical ids: a renamed one would be replaced, and its data lost', () => {
    const ids = [table, bucket, secret].flatMap((type) => Object.keys(resourcesOf(templatesOf('prod').data, type)));
    expect(ids).toEqual([
      'DataJobs35074708',
      'DataPictures1C1F3CBD',
      'DataSigningSecret57086D25',
      'DataVendorSecretimages36A4F5F4',
    ]);
  });

  test('is retained in prod, whatever happens to the stack', () => {
    for (const type of [table, bucket, secret]) {
      for (const resource of Object.values(resourcesOf(templatesOf('prod').data, type))) {
        expect(resource).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
      }
    }
    expect(onlyResource(templatesOf('prod').data, table).Properties).toMatchObject({
      DeletionProtectionEnabled: true,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    });
  });

  test('goes with the stack in dev', () => {
    for (const type of [table, bucket, secret]) {
      for (const resource of Object.values(resourcesOf(templatesOf('dev').data, type))) {
        expect(resource.DeletionPolicy).toBe('Delete');
      }
    }
  });
});

describe('the table', () => {
  const { Properties } = onlyResource(templatesOf('prod').data, table);

  test('is pk and sk, paid per request, encrypted, with a time to live', () => {
    expect(Properties).toMatchObject({
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      BillingMode: 'PAY_PER_REQUEST',
      SSESpecification: { SSEEnabled: true },
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
    });
  });

  test('has its four indexes from the start, keys only: a tick of a job writes none of them', () => {
    const index = (IndexName: string, partition: string, sort: string) => ({
      IndexName,
      KeySchema: [
        { AttributeName: partition, KeyType: 'HASH' },
        { AttributeName: sort, KeyType: 'RANGE' },
      ],
      Projection: { ProjectionType: 'KEYS_ONLY' },
    });
    expect(Properties['GlobalSecondaryIndexes']).toEqual([
      index('queued', 'queuedLane', 'rank'),
      index('active', 'activeShard', 'checkAt'),
      index('attention', 'attention', 'flaggedAt'),
      index('owner', 'owner', 'createdAt'),
    ]);
  });

  test('sorts by numbers', () => {
    const numbers = (Properties['AttributeDefinitions'] as { AttributeName: string; AttributeType: string }[])
      .filter(({ AttributeType }) => AttributeType === 'N')
      .map(({ AttributeName }) => AttributeName);
    expect(numbers).toEqual(['rank', 'checkAt', 'flaggedAt', 'createdAt']);
  });
});

describe('the bucket', () => {
  const { Properties } = onlyResource(templatesOf('prod').data, bucket);

  test('is private and encrypted', () => {
    expect(Properties).toMatchObject({
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
      },
    });
  });

  test('refuses what does not come over TLS', () => {
    const { Statement } = onlyResource(templatesOf('prod').data, 'AWS::S3::BucketPolicy').Properties[
      'PolicyDocument'
    ] as { Statement: unknown[] };
    expect(Statement).toContainEqual(
      expect.objectContaining({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
    );
  });

  test('shows results to any page, and takes uploads from ours', () => {
    expect(Properties['CorsConfiguration']).toMatchObject({
      CorsRules: [
        { AllowedMethods: ['GET'], AllowedOrigins: ['*'] },
        { AllowedMethods: ['POST', 'PUT'], AllowedOrigins: ['https://app.example.com'] },
      ],
    });
  });

  test('forgets uploads after a day, and keeps an input for longer than its result', () => {
    const { Rules } = Properties['LifecycleConfiguration'] as {
      Rules: { Prefix?: string; ExpirationInDays?: number; Status: string }[];
    };
    const days = Object.fromEntries(Rules.map(({ Prefix, ExpirationInDays }) => [Prefix, ExpirationInDays]));
    expect(days).toMatchObject({ 'uploads/': 1, 'inputs/': 60, 'results/': 30 });
    expect(Rules.every(({ Status }) => Status === 'Enabled')).toBe(true);
  });
});

test('the signing secret is random, and long', () => {
  const { Properties } = onlyResource(templatesOf('prod').data, secret, 'SigningSecret');
  expect(Properties['GenerateSecretString']).toMatchObject({ GenerateStringKey: 'current', PasswordLength: 48 });
});
