import openapi from '../../docs/openapi.json' with { type: 'json' };
import { describeFeatures } from '../catalogue/describe-features.ts';
import { describeApiRoute } from '../http/describe-api.ts';
import { httpHandler } from '../http/entry.ts';
import { systemClock } from '../runtime/clock.ts';
import { describeApiEnvironment, readEnvironment } from '../runtime/env.ts';
import { createLog } from '../runtime/log.ts';
import { wireCatalogue } from '../wiring/http.ts';

const env = readEnvironment(describeApiEnvironment);
const clock = systemClock;
const log = createLog({ environment: env.ENVIRONMENT, function: 'describe-api', clock });
const features = describeFeatures(wireCatalogue(env));

export const handler = httpHandler(
  describeApiRoute({ environment: env.ENVIRONMENT, publicUrl: env.PUBLIC_URL, features, openapi }),
  { log, clock },
);
