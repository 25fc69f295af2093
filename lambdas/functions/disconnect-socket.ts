import { systemClock as clock } from '../runtime/clock.ts';
import { disconnectSocketEnvironment, readEnvironment } from '../runtime/env.ts';
import { createLog } from '../runtime/log.ts';
import { disconnectSocket } from '../socket/connect-socket.ts';
import { socketHandler } from '../socket/entry.ts';
import { createDynamo } from '../store/dynamo.ts';
import { DynamoSocketStore } from '../store/dynamo-socket-store.ts';

const env = readEnvironment(disconnectSocketEnvironment);
const log = createLog({ environment: env.ENVIRONMENT, function: 'disconnect-socket', clock });
const sockets = new DynamoSocketStore(createDynamo(), env.TABLE_NAME);

export const handler = socketHandler((event) => disconnectSocket(event, { sockets }), { log });
