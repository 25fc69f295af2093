import * as z from 'zod';
import type { LocalFunction } from './functions.ts';
import { isAllowed, policyDocumentSchema } from './policies.ts';
import type { ConnectEvent } from './socket-api.ts';

export interface SocketAuthorizer {
  readonly function: LocalFunction;
  /** `route.request.querystring.ticket`, `route.request.header.Authorization` */
  readonly identitySources: readonly string[];
}

export type ConnectionVerdict =
  | { kind: 'allowed'; context: Record<string, unknown> }
  | { kind: 'refused'; status: 401 | 403 | 500; message: string };

const resultSchema = z.object({
  principalId: z.string(),
  policyDocument: policyDocumentSchema,
  // API Gateway takes no objects or lists here, and refuses the whole answer for one.
  context: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
});

/** Asks a REQUEST authorizer: no identity is 401 without a call, a policy that doesn't allow is 403, all else that fails 500. */
export async function authorizeConnection(
  authorizer: SocketAuthorizer,
  methodArn: string,
  event: ConnectEvent,
): Promise<ConnectionVerdict> {
  if (!authorizer.identitySources.every((source) => identityOf(source, event)))
    return { kind: 'refused', status: 401, message: 'Unauthorized' };
  const outcome = await authorizer.function.invoke({ type: 'REQUEST', methodArn, ...event });
  if (outcome.kind !== 'answered') {
    const saysUnauthorized = outcome.kind === 'failed' && outcome.error.errorMessage === 'Unauthorized';
    if (saysUnauthorized) return { kind: 'refused', status: 401, message: 'Unauthorized' };
    return { kind: 'refused', status: 500, message: 'Internal Server Error' };
  }
  const result = resultSchema.safeParse(outcome.payload);
  if (!result.success) return { kind: 'refused', status: 500, message: 'Internal Server Error' };
  const { principalId, policyDocument, context } = result.data;
  if (!isAllowed(policyDocument.Statement, 'execute-api:Invoke', methodArn))
    return { kind: 'refused', status: 403, message: 'Forbidden' };
  return { kind: 'allowed', context: { principalId, ...context } };
}

function identityOf(source: string, event: ConnectEvent): string | undefined {
  const [, , place, ...name] = source.split('.');
  const wanted = name.join('.');
  if (place === 'querystring') return event.queryStringParameters?.[wanted];
  if (place === 'header') return event.headers[wanted.toLowerCase()];
  throw new Error(`The local runtime knows no identity source ${source}.`);
}
