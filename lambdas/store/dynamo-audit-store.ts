import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import type { AuditEntry, AuditStore } from '../domain/ports.ts';
import { putDated, readDated } from './dated-items.ts';
import { jsonObject } from './request-item.ts';

const auditEntry = z.object({
  at: z.number(),
  actor: z.string(),
  action: z.string(),
  reason: z.string(),
  detail: jsonObject,
}) satisfies z.ZodType<AuditEntry>;

/** What people did, with a retention of its own: an erased or expired job leaves it untouched. */
export class DynamoAuditStore implements AuditStore {
  readonly #client: DynamoDBClient;
  readonly #table: string;
  readonly #retentionMs: number;

  constructor(client: DynamoDBClient, tableName: string, retentionMs: number) {
    this.#client = client;
    this.#table = tableName;
    this.#retentionMs = retentionMs;
  }

  async add(subject: string, entry: AuditEntry): Promise<void> {
    const ttl = Math.ceil((entry.at + this.#retentionMs) / 1000);
    await putDated(this.#client, this.#table, { pk: subject, kind: 'audit', at: entry.at, entry, ttl });
  }

  async read(subject: string): Promise<readonly AuditEntry[]> {
    return readDated(this.#client, this.#table, { pk: subject, kind: 'audit' }, auditEntry);
  }
}
