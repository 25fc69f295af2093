import { cancelJobRoute } from '../http/cancel-job.ts';
import { httpHandler } from '../http/entry.ts';
import { cancelJobEnvironment, readEnvironment } from '../runtime/env.ts';
import { wireCancel } from '../wiring/cancel.ts';
import { wireHttp } from '../wiring/http.ts';

const env = readEnvironment(cancelJobEnvironment);
const wiring = wireHttp(env, 'cancel-job');
const world = wireCancel(env, wiring);

export const handler = httpHandler(cancelJobRoute({ authenticator: wiring.authenticator, world }), wiring);
