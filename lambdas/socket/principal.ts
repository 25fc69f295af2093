import * as z from 'zod';
import { SCOPES, type Principal } from '../domain/access.ts';

const principalSchema = z.object({
  tenant: z.string(),
  user: z.string(),
  kind: z.enum(['key', 'client-token', 'oidc']),
  keyId: z.string().exactOptional(),
  scopes: z.array(z.enum(SCOPES)),
  features: z.array(z.string()).exactOptional(),
  maxJobs: z.number().exactOptional(),
}) satisfies z.ZodType<Principal>;

/** What API Gateway keeps with a connection, and gives to every function that serves it: text, numbers and booleans only. */
export interface ConnectionContext {
  readonly principal: string;
  readonly [name: string]: string;
}

export function contextOf(principal: Principal): ConnectionContext {
  return { principal: JSON.stringify(principal) };
}

export const connectionContext = z.object({ principal: z.string() }).transform(({ principal }, context): Principal => {
  const parsed = principalSchema.safeParse(jsonOf(principal));
  if (parsed.success) return parsed.data;
  context.issues.push({ code: 'custom', message: 'is no principal', input: principal });
  return z.NEVER;
});

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
