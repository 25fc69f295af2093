import { secretSha256, type AccessStore, type Principal, type TicketUse } from './access.ts';
import type { Clock } from './ports.ts';

/** Browsers can't send headers with a WebSocket, and a URL ends in logs: so a socket takes a ticket that is worth one use. */
export const TICKET_MS = 60_000;

export interface IssuedTicket {
  readonly ticket: string;
  readonly expiresAtMs: number;
}

interface TicketOffice {
  readonly access: Pick<AccessStore, 'putTicket' | 'useTicket'>;
  readonly clock: Clock;
}

/** @param randomTicket At least 128 random bits as URL-safe text. */
export async function issueTicket(
  { access, clock }: TicketOffice,
  principal: Principal,
  randomTicket: string,
): Promise<IssuedTicket> {
  const expiresAtMs = clock.now() + TICKET_MS;
  await access.putTicket(secretSha256(randomTicket), { principal, expiresAtMs });
  return { ticket: randomTicket, expiresAtMs };
}

export const useTicket = ({ access, clock }: TicketOffice, ticket: string): Promise<TicketUse> =>
  access.useTicket(secretSha256(ticket), clock.now());
