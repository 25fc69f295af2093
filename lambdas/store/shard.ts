import { activeShards } from '../domain/ports.ts';
import { crc32 } from '../domain/crc32.ts';

const encoder = new TextEncoder();

/** Which shard of the `active` index a job is in, as long as it is active. */
export function shardOf(jobId: string): number {
  const bytes = encoder.encode(jobId);
  return crc32(bytes, 0, bytes.length) % activeShards;
}
