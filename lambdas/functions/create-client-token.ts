import { createClientTokenRoute } from '../http/create-client-token.ts';
import { httpHandler } from '../http/entry.ts';
import { createClientTokenEnvironment, readEnvironment } from '../runtime/env.ts';
import { wireHttp } from '../wiring/http.ts';

const env = readEnvironment(createClientTokenEnvironment);
const wiring = wireHttp(env, 'create-client-token');
const features = new Set(Object.keys(env.FEATURES));

export const handler = httpHandler(
  createClientTokenRoute({ authenticator: wiring.authenticator, tokens: wiring.clientTokens, features }),
  wiring,
);
