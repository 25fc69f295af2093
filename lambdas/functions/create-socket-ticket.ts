import { createSocketTicketRoute } from '../http/create-socket-ticket.ts';
import { httpHandler } from '../http/entry.ts';
import { createSocketTicketEnvironment, readEnvironment } from '../runtime/env.ts';
import { secretTokens } from '../runtime/tokens.ts';
import { wireHttp } from '../wiring/http.ts';

const env = readEnvironment(createSocketTicketEnvironment);
const wiring = wireHttp(env, 'create-socket-ticket');

export const handler = httpHandler(
  createSocketTicketRoute({ ...wiring, tokens: secretTokens, socketUrl: env.SOCKET_URL }),
  wiring,
);
