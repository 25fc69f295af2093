import * as z from 'zod';
import { CLIENT_TOKEN_SECONDS, isUserName, type ClientTokenGrant, type ClientTokens } from '../domain/access.ts';
import { answerJson, answerProblem } from './answer.ts';
import type { Authenticator } from './authenticate.ts';
import { authenticated, readJsonBody, type Route } from './request.ts';

export const createClientTokenSchema = z.strictObject({
  user: z.string().refine(isUserName, 'must be 1 to 128 visible ASCII characters, and not `-`, `.` or `..`'),
  features: z
    .array(z.string().max(64))
    .min(1)
    .max(50)
    .optional()
    .describe('The only features it may ask for; absent: all.'),
  maxJobs: z
    .int()
    .positive()
    .optional()
    .describe(
      'With this token no job is submitted that would leave its user with more unfinished jobs than these, whoever submitted them. Exact, however many submits come at once.',
    ),
  expiresInSeconds: z.int().min(CLIENT_TOKEN_SECONDS.min).max(CLIENT_TOKEN_SECONDS.max),
});

export const clientTokenSchema = z.object({ token: z.string(), expiresAt: z.iso.datetime() });

export interface CreateClientTokenSettings {
  readonly authenticator: Authenticator;
  readonly tokens: ClientTokens;
  /** What the deployment offers: a token for anything else would only fail later, on somebody's phone. */
  readonly features: ReadonlySet<string>;
}

/** `POST /api/v1/client-tokens`: a server lets one user of its tenant ask for itself. */
export function createClientTokenRoute({ authenticator, tokens, features }: CreateClientTokenSettings): Route {
  return authenticated(authenticator, 'tokens', async ({ event, requestId, principal }) => {
    const body = readJsonBody(event, createClientTokenSchema);
    if (body.kind === 'refused') return answerProblem(body.refusal, { requestId });
    const unknown = body.value.features?.find((feature) => !features.has(feature));
    if (unknown !== undefined) {
      return answerProblem({ code: 'feature_unknown', detail: `There is no feature \`${unknown}\`.` }, { requestId });
    }
    const { token, expiresAtMs } = await tokens.mint(grantOf(principal.tenant, body.value));
    const answer: z.infer<typeof clientTokenSchema> = { token, expiresAt: new Date(expiresAtMs).toISOString() };
    return answerJson(201, answer, { requestId });
  });
}

function grantOf(
  tenant: string,
  { user, features, maxJobs, expiresInSeconds }: z.infer<typeof createClientTokenSchema>,
): ClientTokenGrant {
  return {
    tenant,
    user,
    expiresInSeconds,
    ...(features === undefined ? {} : { features }),
    ...(maxJobs === undefined ? {} : { maxJobs }),
  };
}
