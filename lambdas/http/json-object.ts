import * as z from 'zod';
import type { JsonObject } from '../domain/vendor.ts';

/** Only ever given what `JSON.parse` made: its members are JSON without being walked once more. */
export const jsonObject = z.record(z.string(), z.unknown()) as z.ZodType<JsonObject>;
