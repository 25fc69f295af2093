import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { mostEvidenceRead, type Evidence, type EvidenceStore } from '../domain/ports.ts';
import { putDated, readDated } from './dated-items.ts';
import { jsonObject } from './request-item.ts';

const evidenceEntry = z.object({
  at: z.number(),
  attempt: z.number(),
  generation: z.number(),
  vendorKey: z.string(),
  what: z.string(),
  detail: jsonObject,
}) satisfies z.ZodType<Evidence>;

/** A job's evidence, beside its item, which it may outlive: it goes when the job is erased, or when its own time is over. */
export class DynamoEvidenceStore implements EvidenceStore {
  readonly #client: DynamoDBClient;
  readonly #table: string;
  readonly #retentionMs: number;

  constructor(client: DynamoDBClient, tableName: string, retentionMs: number) {
    this.#client = client;
    this.#table = tableName;
    this.#retentionMs = retentionMs;
  }

  async add(jobId: string, evidence: Evidence): Promise<void> {
    const ttl = Math.ceil((evidence.at + this.#retentionMs) / 1000);
    const entry = { pk: jobId, kind: 'evidence', at: evidence.at, entry: evidence, ttl } as const;
    await putDated(this.#client, this.#table, entry);
  }

  async read(jobId: string): Promise<readonly Evidence[]> {
    return readDated(this.#client, this.#table, { pk: jobId, kind: 'evidence' }, evidenceEntry, mostEvidenceRead);
  }
}
