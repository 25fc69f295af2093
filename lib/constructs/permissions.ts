import type { IConstruct } from 'constructs';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { EventBus } from 'aws-cdk-lib/aws-events';
import * as iam from 'aws-cdk-lib/aws-iam';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Grant } from '../functions.ts';
import { arnSeenFrom } from './acknowledge.ts';

/** What the grants of a function are about. */
export interface GrantTargets {
  readonly table: Pick<ITable, 'tableArn'>;
  readonly pictures: Bucket;
  readonly signingSecret: Secret;
  /**
   * All of the deployment's: a queued job keeps the vendor that it was submitted with, so that a feature which moved to
   * another vendor or lane must not leave the old lane's worker without the account.
   */
  readonly vendorSecrets: readonly Secret[];
  readonly laneQueues: readonly Queue[];
  /** A worker's own queue. */
  readonly ownQueue?: Queue;
  readonly eventBus: EventBus;
  /** ARN of "post to any connection" of the socket API's stage. */
  readonly postToConnections: string;
}

export interface Wildcard {
  readonly resource: string;
  readonly reason: string;
}

export interface Permissions {
  readonly statements: readonly iam.PolicyStatement[];
  readonly wildcards: readonly Wildcard[];
}

/** Turns a function's grants into statements, and names each resource that ends in a wildcard, with its reason. */
export function statementsFor(scope: IConstruct, grants: readonly Grant[], targets: GrantTargets): Permissions {
  const permissions = grants.map((grant) => permit(scope, grant, targets));
  return {
    statements: permissions.flatMap(({ statements }) => statements),
    wildcards: permissions.flatMap(({ wildcards }) => wildcards),
  };
}

function permit(scope: IConstruct, grant: Grant, targets: GrantTargets): Permissions {
  switch (grant.on) {
    case 'table':
      return exactly(
        grant.actions.map((action) => `dynamodb:${action}`),
        [targets.table.tableArn],
      );
    case 'index':
      return exactly(
        ['dynamodb:Query'],
        grant.indexes.map((index) => `${targets.table.tableArn}/index/${index}`),
      );
    case 'pictures':
      return permitPictures(scope, grant, targets.pictures);
    case 'picture-list':
      return listPictures(grant.prefixes, targets.pictures);
    case 'lane-rings':
      return exactly(['sqs:SendMessage'], queueArns(grant.lanes === 'own' ? [own(targets)] : targets.laneQueues));
    case 'lane-queue':
      return exactly(['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'], queueArns([own(targets)]));
    case 'signing-secret':
      return exactly(['secretsmanager:GetSecretValue'], [targets.signingSecret.secretArn]);
    case 'vendor-secrets':
      return exactly(
        ['secretsmanager:GetSecretValue'],
        targets.vendorSecrets.map(({ secretArn }) => secretArn),
      );
    case 'events':
      return exactly(['events:PutEvents'], [targets.eventBus.eventBusArn]);
    case 'sockets':
      return permitSockets(targets.postToConnections);
  }
}

function exactly(actions: string[], resources: string[]): Permissions {
  // A deployment without vendors has no secret to read, and IAM refuses a statement without resources.
  if (resources.length === 0) return { statements: [], wildcards: [] };
  return { statements: [new iam.PolicyStatement({ actions, resources })], wildcards: [] };
}

function permitPictures(
  scope: IConstruct,
  { prefix, actions }: Extract<Grant, { on: 'pictures' }>,
  bucket: Bucket,
): Permissions {
  const granted = exactly(
    actions.map((action) => `s3:${action}`),
    [bucket.arnForObjects(`${prefix}/*`)],
  );
  const resource = `${arnSeenFrom(scope, bucket, bucket.bucketArn)}/${prefix}/*`;
  return {
    ...granted,
    wildcards: [
      { resource, reason: `Pictures are named at run time; this function reaches those under ${prefix}/ only.` },
    ],
  };
}

function listPictures(prefixes: readonly string[], bucket: Bucket): Permissions {
  return {
    statements: [
      new iam.PolicyStatement({
        actions: ['s3:ListBucket'],
        resources: [bucket.bucketArn],
        conditions: { StringLike: { 's3:prefix': prefixes.map((prefix) => `${prefix}/*`) } },
      }),
    ],
    wildcards: [],
  };
}

function permitSockets(resource: string): Permissions {
  const reason = 'Connection ids are given out at run time; the function may only post, on this one stage.';
  return { ...exactly(['execute-api:ManageConnections'], [resource]), wildcards: [{ resource, reason }] };
}

function queueArns(queues: readonly Queue[]): string[] {
  return queues.map(({ queueArn }) => queueArn);
}

function own({ ownQueue }: GrantTargets): Queue {
  if (ownQueue === undefined) throw new Error('Only a worker has a queue of its own.');
  return ownQueue;
}
