import * as z from 'zod';
import type { JsonObject, JsonValue } from '../domain/vendor.ts';

const jsonValue: z.ZodType<JsonValue> = z.json();

export const jsonObject: z.ZodType<JsonObject> = z.record(z.string(), jsonValue);
