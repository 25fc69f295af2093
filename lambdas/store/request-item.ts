import { marshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import type { JobRequest } from '../domain/job.ts';
import type { JsonObject } from '../domain/vendor.ts';
import type { PlainItem } from './conditional-write.ts';
import type { Item, Key } from './item.ts';

/** What the request said, beside the job: it can be kilobytes, and a tick must not rewrite it. */

export const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), z.json());

const storedRequest = z.object({
  parameters: jsonObject,
  metadata: jsonObject.optional(),
  consent: z.object({ by: z.string(), at: z.number() }).optional(),
});

const itemSchema = z.object({ request: z.string() });

export function requestKey(id: string, submitToken: string): Key {
  return { pk: id, sk: `request#${submitToken}` };
}

/** As JSON text: DynamoDB's numbers have another range and precision than those of JSON. */
export function requestItem(id: string, submitToken: string, request: JobRequest, keptUntil: number): Item {
  const ttl = Math.ceil(keptUntil / 1000);
  return marshall({ ...requestKey(id, submitToken), request: JSON.stringify(request), ttl });
}

export function requestOf(item: PlainItem): JobRequest {
  const { parameters, metadata, consent } = storedRequest.parse(JSON.parse(itemSchema.parse(item).request));
  return { parameters, metadata, consent };
}
