import {
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { activeStates, isTerminal, terminalStates, type Job, type JobRequest } from '../domain/job.ts';
import { advance, rowOf, type AnyMove, type Move, type To, type Transition } from '../domain/lifecycle.ts';
import type { Created, Followed, JobStore, Linked, Moved, Read } from '../domain/ports.ts';
import { plain, putIf, updateIf, type PlainItem } from './conditional-write.ts';
import { Expression, updateText } from './expression.ts';
import { guardedUpdate } from './guard.ts';
import { itemOf, jobKey, jobOf, keyItem, readOf, storedName, tombstoneItem, type Key } from './item.ts';
import { jobAttributes, storedOwner } from './job-attributes.ts';
import { requestItem, requestKey, requestOf } from './request-item.ts';

const maxFollowers = 8;
const deletesAtOnce = 8;
const siblingPrefixes = ['request#', 'evidence#'];

const linkItem = z.object({ jobId: z.string(), generation: z.number() });

/** The jobs in the one table. Throws where DynamoDB doesn't answer or throttles beyond the client's own retries. */
export class DynamoJobStore implements JobStore {
  readonly #client: DynamoDBClient;
  readonly #table: string;

  constructor(client: DynamoDBClient, tableName: string) {
    this.#client = client;
    this.#table = tableName;
  }

  async read(id: string): Promise<Read | undefined> {
    const item = await this.#get(jobKey(id));
    return item === undefined ? undefined : readOf(item);
  }

  async create(job: Job<'queued'>): Promise<Created> {
    const put = await putIf(this.#client, {
      TableName: this.#table,
      Item: itemOf(job),
      ConditionExpression: 'attribute_not_exists(pk)',
    });
    if (put.kind === 'written') return { kind: 'created' };
    const found = readOf(theOld(put.old));
    // The SDK sends a put again whose answer was lost; the second one is refused by the first.
    const isOwn = found.kind === 'job' && found.job.submitToken === job.submitToken;
    return isOwn ? { kind: 'created' } : { kind: 'exists', found };
  }

  async move<T extends Transition>(moving: Move<T>): Promise<Moved<T>> {
    // Before the write that says "announced": whoever crashes in between does both once more.
    if (moving.transition === 'announced') await this.#endSiblings(moving.job);
    const written = await updateIf(this.#client, {
      TableName: this.#table,
      Key: keyItem(jobKey(moving.job.id)),
      ...guardedUpdate(moving),
    });
    if (written.kind === 'written') return afterMove(moving, jobOf(theOld(written.item)));
    const read = written.old === undefined ? undefined : readOf(written.old);
    const actual = read?.kind === 'job' ? read.job : undefined;
    if (actual !== undefined && isOwnClaim(moving, actual)) {
      return { kind: 'moved', job: actual as Job<To<T>>, unbound: undefined, followers: actual.followers };
    }
    return { kind: 'refused', actual };
  }

  /** What the user asked for, and whose a vendor's job is, are kept as long as the ended job, and no longer. */
  async #endSiblings({ id, submitToken, vendor, vendorJobId, state, ttl }: Job): Promise<void> {
    if (!isTerminal(state) || ttl === undefined) return;
    const keys = [requestKey(id, submitToken), ...(vendorJobId === undefined ? [] : [linkKey(vendor, vendorJobId)])];
    const ending = keys.map((key) => {
      const expression = new Expression();
      return updateIf(this.#client, {
        TableName: this.#table,
        Key: keyItem(key),
        UpdateExpression: updateText({ set: [`${expression.name('ttl')} = ${expression.value(ttl)}`] }),
        // Refused where it is gone already.
        ConditionExpression: `attribute_exists(${expression.name('pk')})`,
        ...expression.placeholders(),
      });
    });
    await Promise.all(ending);
  }

  async putRequest(id: string, submitToken: string, request: JobRequest, keptUntil: number): Promise<void> {
    const Item = requestItem(id, submitToken, request, keptUntil);
    await this.#client.send(new PutItemCommand({ TableName: this.#table, Item }));
  }

  async readRequest(id: string, submitToken: string): Promise<JobRequest | undefined> {
    const item = await this.#get(requestKey(id, submitToken));
    return item === undefined ? undefined : requestOf(item);
  }

  async deleteRequest(id: string, submitToken: string): Promise<void> {
    await this.#delete(requestKey(id, submitToken));
  }

  async linkVendorJob(
    vendor: string,
    vendorJobId: string,
    jobId: string,
    generation: number,
    keptUntil: number,
  ): Promise<Linked> {
    const ttl = Math.ceil(keptUntil / 1000);
    const put = await putIf(this.#client, {
      TableName: this.#table,
      Item: marshall({ ...linkKey(vendor, vendorJobId), jobId, generation, ttl }),
      ConditionExpression: 'attribute_not_exists(pk)',
    });
    if (put.kind === 'written') return { kind: 'linked', isNew: true };
    const owner = linkItem.parse(put.old);
    const isOurs = owner.jobId === jobId && owner.generation === generation;
    return isOurs ? { kind: 'linked', isNew: false } : { kind: 'owned', ...owner };
  }

  async vendorJobOwner(vendor: string, vendorJobId: string): Promise<z.infer<typeof linkItem> | undefined> {
    const item = await this.#get(linkKey(vendor, vendorJobId));
    return item === undefined ? undefined : linkItem.parse(item);
  }

  async follow(id: string, owner: string, connectionId: string): Promise<Followed> {
    const expression = new Expression();
    const followers = expression.name(jobAttributes.followers.name);
    const connection = expression.value(connectionId);
    const followed = await updateIf(this.#client, {
      TableName: this.#table,
      Key: keyItem(jobKey(id)),
      UpdateExpression: updateText({ add: [`${followers} ${expression.value(new Set([connectionId]))}`] }),
      ConditionExpression: [
        // An ended job has forgotten its followers: its snapshot is the last word.
        `${expression.name('state')} IN (${activeStates.map((state) => expression.value(state)).join(', ')})`,
        `${expression.name('owner')} = ${expression.value(storedOwner(owner))}`,
        `(attribute_not_exists(${followers}) OR contains(${followers}, ${connection})` +
          ` OR size(${followers}) < ${expression.value(maxFollowers)})`,
      ].join(' AND '),
      ...expression.placeholders(),
      ReturnValues: 'ALL_NEW',
    });
    if (followed.kind === 'written') return { kind: 'following', job: jobOf(theOld(followed.item)) };
    const found = followed.old === undefined ? undefined : readOf(followed.old);
    if (found?.kind !== 'job' || found.job.owner !== owner) return { kind: 'absent' };
    return { kind: isTerminal(found.job.state) ? 'following' : 'full', job: found.job };
  }

  async unfollow(id: string, connectionId: string): Promise<void> {
    const expression = new Expression();
    const followers = expression.name(jobAttributes.followers.name);
    // Refused where the job is gone: an update without a condition would make an item of it.
    await updateIf(this.#client, {
      TableName: this.#table,
      Key: keyItem(jobKey(id)),
      UpdateExpression: updateText({ delete: [`${followers} ${expression.value(new Set([connectionId]))}`] }),
      ConditionExpression: `attribute_exists(${expression.name('state')})`,
      ...expression.placeholders(),
    });
  }

  async erase(job: Job, erasedAt: number): Promise<'erased' | 'moved_on'> {
    const expression = new Expression();
    const terminal = terminalStates.map((state) => expression.value(state)).join(', ');
    const erased = await putIf(this.#client, {
      TableName: this.#table,
      Item: tombstoneItem({ id: job.id, owner: job.owner, erasedAt }),
      ConditionExpression: [
        `${expression.name('state')} IN (${terminal})`,
        `attribute_not_exists(${expression.name(storedName('hold'))})`,
        `${expression.name(storedName('version'))} = ${expression.value(job.version)}`,
      ].join(' AND '),
      ...expression.placeholders(),
    });
    if (erased.kind === 'written') return 'erased';
    const found = erased.old === undefined ? undefined : readOf(erased.old);
    return found?.kind === 'erased' && found.tombstone.erasedAt === erasedAt ? 'erased' : 'moved_on';
  }

  async eraseSiblings(id: string): Promise<number> {
    let erased = 0;
    for (const prefix of siblingPrefixes) {
      for await (const keys of this.#keysOf(id, prefix)) {
        for (let from = 0; from < keys.length; from += deletesAtOnce) {
          await Promise.all(keys.slice(from, from + deletesAtOnce).map((key) => this.#delete(key)));
        }
        erased += keys.length;
      }
    }
    return erased;
  }

  async *#keysOf(pk: string, prefix: string): AsyncGenerator<readonly Key[]> {
    let from: QueryCommand['input']['ExclusiveStartKey'];
    do {
      const page = await this.#client.send(
        new QueryCommand({
          TableName: this.#table,
          KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
          ExpressionAttributeValues: marshall({ ':pk': pk, ':prefix': prefix }),
          ProjectionExpression: 'pk, sk',
          ConsistentRead: true,
          ExclusiveStartKey: from,
        }),
      );
      yield (page.Items ?? []).map((item) => keySchema.parse(plain(item)));
      from = page.LastEvaluatedKey;
    } while (from !== undefined);
  }

  async #get(key: Key): Promise<PlainItem | undefined> {
    const { Item } = await this.#client.send(
      new GetItemCommand({ TableName: this.#table, Key: keyItem(key), ConsistentRead: true }),
    );
    return plain(Item);
  }

  async #delete(key: Key): Promise<void> {
    await this.#client.send(new DeleteItemCommand({ TableName: this.#table, Key: keyItem(key) }));
  }
}

const keySchema = z.object({ pk: z.string(), sk: z.string() });

function linkKey(vendor: string, vendorJobId: string): Key {
  return { pk: `vendor-job#${vendor}#${vendorJobId}`, sk: 'link' };
}

/** A write that unbinds brings the job as it was, since the token to free is only there; what it became follows. */
function afterMove<T extends Transition>(moving: Move<T>, returned: Job): Moved<T> {
  const { unbinds, ends } = rowOf(moving.transition);
  const { followers } = returned;
  if (!unbinds && !ends) return { kind: 'moved', job: returned as Job<To<T>>, unbound: undefined, followers };
  const moved = advance(returned, moving);
  if (moved === undefined) throw new Error(`DynamoDB took the move ${moving.transition}, which its row refuses.`);
  return { kind: 'moved', job: moved as Job<To<T>>, unbound: unbinds ? returned.hold : undefined, followers };
}

/**
 * The SDK sends an update again whose answer was lost, and our own first one refuses it. Only a claim and its kin must
 * know: they carry a token that nobody else writes. Ours but moved on since stays a refusal.
 */
function isOwnClaim(moving: AnyMove, actual: Job): boolean {
  const row = rowOf(moving.transition);
  return (
    row.sets.includes('claimToken') &&
    moving.change.claimToken !== undefined &&
    actual.claimToken === moving.change.claimToken &&
    actual.state === row.to &&
    actual.attempt === moving.job.attempt + 1
  );
}

function theOld(item: PlainItem | undefined): PlainItem {
  if (item === undefined) throw new Error('DynamoDB did not return the item that the write asked for.');
  return item;
}
