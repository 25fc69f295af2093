import { httpHandler } from '../http/entry.ts';
import { eraseJobsRoute } from '../http/erase-jobs.ts';
import { eraseJobsEnvironment, readEnvironment } from '../runtime/env.ts';
import { wireCancel } from '../wiring/cancel.ts';
import { wireHttp } from '../wiring/http.ts';

const env = readEnvironment(eraseJobsEnvironment);
const wiring = wireHttp(env, 'erase-jobs');
const world = wireCancel(env, wiring);

export const handler = httpHandler(eraseJobsRoute({ authenticator: wiring.authenticator, world }), wiring);
