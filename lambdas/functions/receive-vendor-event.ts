import { httpHandler } from '../http/entry.ts';
import { receiveVendorEventRoute } from '../http/receive-vendor-event.ts';
import { readEnvironment, receiveVendorEventEnvironment } from '../runtime/env.ts';
import { createSecret, signingSecret } from '../runtime/secrets.ts';
import { createVerifyCallback } from '../vendors/verify-callback.ts';
import { createWorld } from '../wiring/world.ts';

const env = readEnvironment(receiveVendorEventEnvironment);
const world = createWorld(env, 'receive-vendor-event');
const isOurs = createVerifyCallback(createSecret(env.SIGNING_SECRET_ARN, signingSecret, world));

export const handler = httpHandler(receiveVendorEventRoute({ world, isOurs }), world);
