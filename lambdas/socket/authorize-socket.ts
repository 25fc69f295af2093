import type { APIGatewayAuthorizerResult } from 'aws-lambda';
import * as z from 'zod';
import type { AccessStore } from '../domain/access.ts';
import { ownerOf } from '../domain/job.ts';
import type { Clock } from '../domain/ports.ts';
import { useTicket } from '../domain/socket-tickets.ts';
import type { Log } from '../runtime/log.ts';
import { contextOf } from './principal.ts';

const authorizerEvent = z.object({
  methodArn: z.string(),
  queryStringParameters: z.object({ ticket: z.string().min(1).max(200) }),
  requestContext: z.object({ requestId: z.string() }),
});

export interface AuthorizeSocketSettings {
  readonly access: Pick<AccessStore, 'putTicket' | 'useTicket'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Before a socket opens: its ticket admits once. A refusal is a policy that denies (403), not a thrown "Unauthorized"
 * (401): a throw counts as an error of the function, and strangers with old tickets must not wake anybody.
 */
export async function authorizeSocket(
  event: unknown,
  { access, clock, log }: AuthorizeSocketSettings,
): Promise<APIGatewayAuthorizerResult> {
  const read = authorizerEvent.safeParse(event);
  if (!read.success) return policy('nobody', 'Deny', '*');
  const { methodArn, queryStringParameters, requestContext } = read.data;
  const use = await useTicket({ access, clock }, queryStringParameters.ticket);
  if (use.kind !== 'admitted') {
    log.about({ requestId: requestContext.requestId }).write('socket_refused', { reason: `ticket_${use.kind}` });
    return policy('nobody', 'Deny', methodArn);
  }
  const { principal } = use;
  return {
    ...policy(ownerOf(principal.tenant, principal.user), 'Allow', methodArn),
    context: contextOf(principal),
  };
}

function policy(principalId: string, Effect: 'Allow' | 'Deny', Resource: string): APIGatewayAuthorizerResult {
  return {
    principalId,
    policyDocument: { Version: '2012-10-17', Statement: [{ Action: 'execute-api:Invoke', Effect, Resource }] },
  };
}
