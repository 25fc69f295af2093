import type { Job } from '../domain/job.ts';
import { showJob } from '../domain/show-job.ts';
import { jobBody } from '../http/job-body.ts';
import { ApiGatewayConnections } from '../progress/connections.ts';
import { systemClock as clock } from '../runtime/clock.ts';
import { followJobEnvironment, readEnvironment } from '../runtime/env.ts';
import { createLog } from '../runtime/log.ts';
import { socketHandler } from '../socket/entry.ts';
import { sayUnavailable, serveMessage } from '../socket/serve-message.ts';
import { createDynamo } from '../store/dynamo.ts';
import { wireShow } from '../wiring/http.ts';

const env = readEnvironment(followJobEnvironment);
const log = createLog({ environment: env.ENVIRONMENT, function: 'follow-job', clock });
const show = wireShow(env, createDynamo());
const postbox = new ApiGatewayConnections(env.SOCKET_MANAGEMENT_URL);
const render = async (job: Job) => jobBody(job, await showJob(job, show));

export const handler = socketHandler((event) => serveMessage(event, { jobs: show.jobs, postbox, render }), {
  log,
  failed: (event) => sayUnavailable(event, { postbox }),
});
