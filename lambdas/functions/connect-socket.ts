import { systemClock as clock } from '../runtime/clock.ts';
import { connectSocketEnvironment, readEnvironment } from '../runtime/env.ts';
import { createLog } from '../runtime/log.ts';
import { connectSocket } from '../socket/connect-socket.ts';
import { socketHandler } from '../socket/entry.ts';
import { createDynamo } from '../store/dynamo.ts';
import { DynamoSocketStore } from '../store/dynamo-socket-store.ts';

const env = readEnvironment(connectSocketEnvironment);
const log = createLog({ environment: env.ENVIRONMENT, function: 'connect-socket', clock });
const sockets = new DynamoSocketStore(createDynamo(), env.TABLE_NAME);
const limit = env.LIMITS.sockets;

export const handler = socketHandler((event) => connectSocket(event, { sockets, clock, limit }), { log });
