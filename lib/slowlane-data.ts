import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as s3 from 'aws-cdk-lib/aws-s3';
import * as secrets from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { settlingDays } from '../lambdas/domain/timing.ts';
import { acknowledge } from './constructs/acknowledge.ts';
import { type Environment, restoredTableOf } from './environments.ts';

/** What must survive: the jobs, their pictures, and the secrets. */
export class SlowlaneData extends Construct {
  /** Where the jobs are: the table that is made here or, since a restore, the restored one. */
  readonly table: dynamodb.Table | dynamodb.ITable;
  readonly pictures: s3.Bucket;
  /** Signs client tokens, callback URLs and cursors: `{"current","previous"?}`. */
  readonly signingSecret: secrets.Secret;
  /** By vendor: `{"apiKey","webhookSecret"?}`. */
  readonly vendorSecrets: ReadonlyMap<string, secrets.Secret>;

  constructor(scope: Construct, id: string, environment: Environment) {
    super(scope, id);
    const isProtected = environment.protectData !== false;
    const removalPolicy = isProtected ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
    this.table = this.tableInUse(this.createTable(isProtected, removalPolicy), environment);
    this.pictures = this.createBucket(environment, removalPolicy);
    this.signingSecret = this.createSigningSecret(removalPolicy);
    this.vendorSecrets = new Map(
      Object.keys(environment.vendors).map((vendor) => [vendor, this.createVendorSecret(vendor, removalPolicy)]),
    );
  }

  private tableInUse(made: dynamodb.Table, environment: Environment): SlowlaneData['table'] {
    // Exported whether or not it is in use: this stack is deployed first, while the other one still imports them.
    for (const value of [made.tableName, made.tableArn]) Stack.of(this).exportValue(value);
    const restored = restoredTableOf(environment);
    return restored === undefined ? made : dynamodb.Table.fromTableName(this, 'RestoredJobs', restored);
  }

  private createTable(isProtected: boolean, removalPolicy: RemovalPolicy): dynamodb.Table {
    const table = new dynamodb.Table(this, 'Jobs', {
      partitionKey: { name: 'pk', type: dynamodb.AttributeType.STRING },
      sortKey: { name: 'sk', type: dynamodb.AttributeType.STRING },
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      encryption: dynamodb.TableEncryption.AWS_MANAGED,
      timeToLiveAttribute: 'ttl',
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: isProtected },
      deletionProtection: isProtected,
      removalPolicy,
    });
    // All from the first deployment: AWS adds one index per update. Keys only, so that a job's ticks never touch them.
    addIndex(table, 'queued', 'queuedLane', 'rank');
    addIndex(table, 'active', 'activeShard', 'checkAt');
    addIndex(table, 'attention', 'attention', 'flaggedAt');
    addIndex(table, 'owner', 'owner', 'createdAt');
    if (!isProtected) {
      acknowledge(table, 'AwsSolutions-DDB3', 'The jobs of this environment are disposable: protectData is false.');
    }
    return table;
  }

  private createBucket({ corsOrigins, retention }: Environment, removalPolicy: RemovalPolicy): s3.Bucket {
    const bucket = new s3.Bucket(this, 'Pictures', {
      blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
      objectOwnership: s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: s3.BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      removalPolicy,
      cors: [
        // A result's link is its own secret, and is drawn on canvases of any origin.
        { allowedMethods: [s3.HttpMethods.GET], allowedOrigins: ['*'], allowedHeaders: ['*'], maxAge: 3600 },
        {
          allowedMethods: [s3.HttpMethods.POST, s3.HttpMethods.PUT],
          allowedOrigins: corsOrigins,
          allowedHeaders: ['*'],
          exposedHeaders: ['ETag'],
          maxAge: 3600,
        },
      ],
      lifecycleRules: [
        { id: 'uploads', prefix: 'uploads/', expiration: Duration.days(1) },
        { id: 'inputs', prefix: 'inputs/', expiration: Duration.days(retention.jobDays + settlingDays) },
        // A result is written when its job ends, which is when the job's retention begins.
        { id: 'results', prefix: 'results/', expiration: Duration.days(retention.jobDays) },
        { id: 'unfinished', abortIncompleteMultipartUploadAfter: Duration.days(1) },
      ],
    });
    acknowledge(
      bucket,
      'AwsSolutions-S1',
      "The bucket is private and reached only by this app's functions and by short-lived links that they sign and log; " +
        'access logs would store, in a second bucket, links that still work.',
    );
    return bucket;
  }

  private createSigningSecret(removalPolicy: RemovalPolicy): secrets.Secret {
    const secret = new secrets.Secret(this, 'SigningSecret', {
      description: 'Signs client tokens, callback URLs and cursors. To rotate: move "current" to "previous" first.',
      generateSecretString: {
        secretStringTemplate: '{}',
        generateStringKey: 'current',
        passwordLength: 48,
        excludePunctuation: true,
      },
      removalPolicy,
    });
    acknowledge(
      secret,
      'AwsSolutions-SMG4',
      'A rotation must keep the previous secret until every callback URL that it signed has expired; ' +
        'a person rotates it by the runbook, when there is a reason.',
    );
    return secret;
  }

  /** Deployed with a random key, which the vendor refuses and the lane then trips on, until the team sets its own. */
  private createVendorSecret(vendor: string, removalPolicy: RemovalPolicy): secrets.Secret {
    const secret = new secrets.Secret(this, `VendorSecret-${vendor}`, {
      description: `Our account at vendor ${vendor}: {"apiKey","webhookSecret"}. Put the real values here.`,
      generateSecretString: { secretStringTemplate: '{}', generateStringKey: 'apiKey', excludePunctuation: true },
      removalPolicy,
    });
    acknowledge(secret, 'AwsSolutions-SMG4', 'The vendor issues this key: only its own console can rotate it.');
    return secret;
  }
}

function addIndex(table: dynamodb.Table, indexName: string, partition: string, numericSort: string): void {
  table.addGlobalSecondaryIndex({
    indexName,
    partitionKey: { name: partition, type: dynamodb.AttributeType.STRING },
    sortKey: { name: numericSort, type: dynamodb.AttributeType.NUMBER },
    projectionType: dynamodb.ProjectionType.KEYS_ONLY,
  });
}
