import { createCursors } from '../http/cursor.ts';
import { httpHandler } from '../http/entry.ts';
import { operateJobsRoute } from '../http/operate-jobs.ts';
import { operateJobsEnvironment, readEnvironment } from '../runtime/env.ts';
import { wireHttp } from '../wiring/http.ts';
import { createWorld } from '../wiring/world.ts';

const env = readEnvironment(operateJobsEnvironment);
const { authenticator, signing } = wireHttp(env, 'operate-jobs');
const world = createWorld(env, 'operate-jobs');
const view = { vendors: world.vendors, prices: (vendor: string) => env.VENDORS[vendor]?.price };
const lanes = Object.keys(env.LANES);

export const handler = httpHandler(
  operateJobsRoute({ authenticator, cursors: createCursors(signing), world, view, lanes }),
  world,
);
