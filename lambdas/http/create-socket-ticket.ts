import * as z from 'zod';
import type { AccessStore } from '../domain/access.ts';
import type { Clock, Tokens } from '../domain/ports.ts';
import { issueTicket } from '../domain/socket-tickets.ts';
import { answerJson } from './answer.ts';
import type { Authenticator } from './authenticate.ts';
import { authenticated, type Route } from './request.ts';

export const socketTicketSchema = z.object({
  ticket: z.string().describe('For one connection.'),
  url: z.string().describe('Of the socket, the ticket included.'),
  expiresAt: z.iso.datetime(),
});

export interface CreateSocketTicketSettings {
  readonly authenticator: Authenticator;
  readonly access: Pick<AccessStore, 'putTicket' | 'useTicket'>;
  readonly clock: Clock;
  readonly tokens: Tokens;
  readonly socketUrl: string;
}

/** `POST /api/v1/socket-tickets` */
export function createSocketTicketRoute(settings: CreateSocketTicketSettings): Route {
  return authenticated(settings.authenticator, 'jobs', async ({ requestId, principal }) => {
    const { ticket, expiresAtMs } = await issueTicket(settings, principal, settings.tokens.next());
    const answer: z.infer<typeof socketTicketSchema> = {
      ticket,
      url: `${settings.socketUrl}?ticket=${encodeURIComponent(ticket)}`,
      expiresAt: new Date(expiresAtMs).toISOString(),
    };
    return answerJson(201, answer, { requestId });
  });
}
