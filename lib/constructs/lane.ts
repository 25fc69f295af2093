import { Duration } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { workersFor } from '../concurrency.ts';
import { workerSeconds } from '../functions.ts';

/**
 * Longer than the worker lives, so that a ring never comes back while it is being served. AWS advises six times the timeout
 * for batches that were throttled; workers here are never throttled (mapping and reservation are one number), and a ring
 * that a crash loses is rung again by the reconciler, within a minute.
 */
const visibilitySeconds = workerSeconds + 30;

/** A ring that finds nothing to do is acknowledged: only a crashing worker comes this far. */
const receivesBeforeDeadLetter = 5;

export interface LaneProps {
  readonly name: string;
  /** The most workers that the lane may have without a deployment. */
  readonly ceiling: number;
}

/** One pool of vendor capacity: its queue of rings, the queue of those that crashed, and the worker that serves them. */
export class Lane extends Construct {
  readonly name: string;
  readonly queue: sqs.Queue;
  readonly deadLetters: sqs.Queue;
  /** One number for the mapping's limit and for the worker's reserved concurrency. */
  readonly workers: number;

  constructor(scope: Construct, id: string, { name, ceiling }: LaneProps) {
    super(scope, id);
    this.name = name;
    this.workers = workersFor(ceiling);
    this.deadLetters = new sqs.Queue(this, 'DeadLetters', {
      // A dead letter keeps the age it had in the queue: it must be kept for longer than the queue keeps a ring.
      retentionPeriod: Duration.days(14),
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
    });
    this.queue = new sqs.Queue(this, 'Rings', {
      visibilityTimeout: Duration.seconds(visibilitySeconds),
      retentionPeriod: Duration.days(4),
      encryption: sqs.QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: receivesBeforeDeadLetter },
    });
  }

  /** Lets the worker serve the rings, one job per invocation. */
  serveWith(worker: lambda.Function): void {
    new lambda.EventSourceMapping(this, 'Mapping', {
      target: worker,
      eventSourceArn: this.queue.queueArn,
      batchSize: 1,
      maxConcurrency: this.workers,
      reportBatchItemFailures: true,
    });
  }
}
