import middy from '@middy/core';
import { systemClock as clock } from '../runtime/clock.ts';
import { authorizeSocketEnvironment, readEnvironment } from '../runtime/env.ts';
import { createLog } from '../runtime/log.ts';
import { authorizeSocket } from '../socket/authorize-socket.ts';
import { createDynamo } from '../store/dynamo.ts';
import { DynamoAccessStore } from '../store/dynamo-access-store.ts';

const env = readEnvironment(authorizeSocketEnvironment);
const log = createLog({ environment: env.ENVIRONMENT, function: 'authorize-socket', clock });
const access = new DynamoAccessStore(createDynamo(), env.TABLE_NAME);

export const handler = middy({ timeoutEarlyInMillis: 0 }).handler((event: unknown) =>
  authorizeSocket(event, { access, clock, log }),
);
