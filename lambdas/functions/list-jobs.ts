import { createCursors } from '../http/cursor.ts';
import { httpHandler } from '../http/entry.ts';
import { listJobsRoute } from '../http/list-jobs.ts';
import { listJobsEnvironment, readEnvironment } from '../runtime/env.ts';
import { wireHttp, wireShow } from '../wiring/http.ts';

const env = readEnvironment(listJobsEnvironment);
const wiring = wireHttp(env, 'list-jobs');
const world = wireShow(env, wiring.dynamo);
const cursors = createCursors(wiring.signing);

export const handler = httpHandler(listJobsRoute({ authenticator: wiring.authenticator, cursors, world }), wiring);
