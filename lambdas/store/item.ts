import { marshall } from '@aws-sdk/util-dynamodb';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { states, type Job, type JobFields, type Tombstone } from '../domain/job.ts';
import { isActive, wantsAttention } from '../domain/lifecycle.ts';
import type { Read } from '../domain/ports.ts';
import type { PlainItem } from './conditional-write.ts';
import { jobAttributes, readOwner, storedOwner, type Attribute, type Named } from './job-attributes.ts';
import { shardOf } from './shard.ts';

/** A job as an item, and back. Nothing else knows how a job is stored. */

export type Key = { readonly pk: string; readonly sk: string };
export type Item = Record<string, AttributeValue>;

export function keyItem(key: Key): Item {
  return marshall(key);
}

export function jobKey(id: string): Key {
  return { pk: id, sk: 'job' };
}

export function storedName(field: Exclude<keyof JobFields, 'id'> | 'state'): string {
  return field === 'state' ? 'state' : jobAttributes[field].name;
}

/** One field as it is stored; undefined: its attribute is absent. */
export function storedValue(field: Exclude<keyof JobFields, 'id'>, value: unknown, of: Named): unknown {
  // The table pairs each field with its own type; the loop over them can't say so.
  return (jobAttributes[field] as Attribute<unknown>).write(value, of);
}

export function itemOf(job: Job): Item {
  const fields = Object.entries(jobAttributes).map(([field, { name }]) => [
    name,
    storedValue(field as keyof typeof jobAttributes, job[field as keyof typeof jobAttributes], job),
  ]);
  const item = { ...jobKey(job.id), state: job.state, ...Object.fromEntries(fields), ...indexKeysOf(job) };
  return marshall(item, { removeUndefinedValues: true });
}

export function tombstoneItem({ id, owner, erasedAt }: Tombstone): Item {
  // Without `createdAt` it is in no owner's list.
  return marshall({ ...jobKey(id), owner: storedOwner(owner), erasedAt });
}

/** Where the indexes have it. */
export function indexKeysOf(job: Job): Readonly<Record<string, string | number>> {
  return {
    ...(job.state === 'queued' ? { queuedLane: job.lane } : {}),
    ...(isActive(job) ? { activeShard: `${shardOf(job.id)}` } : {}),
    ...(wantsAttention(job)
      ? { attention: job.lane, flaggedAt: job.flag?.since ?? job.finishedAt ?? job.createdAt }
      : {}),
  };
}

const erasedItem = z.object({ pk: z.string(), owner: z.string(), erasedAt: z.number() });
const basis = z.object({ pk: z.string(), state: z.enum(states), owner: z.string(), g: z.number() });

export function readOf(item: PlainItem): Read {
  if (item['erasedAt'] === undefined) return { kind: 'job', job: jobOf(item) };
  const { pk, owner, erasedAt } = erasedItem.parse(item);
  return { kind: 'erased', tombstone: { id: pk, owner: readOwner(owner), erasedAt } };
}

/** Throws for an item that no version of ours writes. */
export function jobOf(item: PlainItem): Job {
  const { pk, state, owner, g } = basis.parse(item);
  const of = { id: pk, owner: readOwner(owner), generation: g };
  const fields = Object.entries(jobAttributes).map(([field, { name, read }]) => {
    try {
      return [field, read(item[name], of)];
    } catch (error) {
      throw new Error(`The stored ${field} of job ${pk} can't be read.`, { cause: error });
    }
  });
  return { id: pk, state, ...Object.fromEntries(fields) } as Job;
}
