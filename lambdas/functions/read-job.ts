import { httpHandler } from '../http/entry.ts';
import { readJobRoute } from '../http/read-job.ts';
import { readEnvironment, readJobEnvironment } from '../runtime/env.ts';
import { wireHttp, wireShow } from '../wiring/http.ts';

const env = readEnvironment(readJobEnvironment);
const wiring = wireHttp(env, 'read-job');
const world = wireShow(env, wiring.dynamo);

export const handler = httpHandler(readJobRoute({ authenticator: wiring.authenticator, world }), wiring);
