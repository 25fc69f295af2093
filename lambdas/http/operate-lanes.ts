import * as z from 'zod';
import { changeLane } from '../domain/change-lane.ts';
import type { Lane } from '../domain/lane.ts';
import type { AuditStore } from '../domain/ports.ts';
import type { World } from '../domain/world.ts';
import { answerJson, answerProblem, type HttpAnswer } from './answer.ts';
import type { Authenticator } from './authenticate.ts';
import { actorOf } from './operator-job.ts';
import { authenticated, byRoute, readJsonBody, type AuthenticatedRequest, type Route } from './request.ts';

const count = z.int().nonnegative();

export const laneSchema = z.object({
  lane: z.string(),
  cap: count.describe('At most so many jobs of this lane may be running at the vendor.'),
  ceiling: count.describe('The most that the cap may be: raising it needs a deployment.'),
  state: z
    .enum(['open', 'paused', 'tripped'])
    .describe('`tripped`: the vendor refuses our account; a probe reopens it.'),
  by: z.string().describe('Who last changed it.'),
  reason: z.string(),
  since: z.iso.datetime().nullable().describe('When it came into this state; null: it was never in another.'),
  inFlight: count.describe(
    'Units held: jobs that may be running at the vendor. Above the cap while a lowered one drains.',
  ),
  queued: count.describe('May lag.'),
  restsUntil: z.iso
    .datetime()
    .nullable()
    .describe('Nothing begins before: the vendor asked us to wait, or the next probe is due then. Null: no such wait.'),
});
export type LaneBody = z.infer<typeof laneSchema>;

export const laneListSchema = z.object({ lanes: z.array(laneSchema) });

export const changeLaneBody = z
  .strictObject({
    cap: count.optional(),
    state: z.enum(['open', 'paused']).optional(),
    reason: z.string().trim().min(1).max(500).describe('Why. It is kept in the audit trail, and shown with the lane.'),
  })
  .refine(({ cap, state }) => cap !== undefined || state !== undefined, { error: 'names neither a cap nor a state' });

export interface OperateLanesSettings {
  readonly authenticator: Authenticator;
  readonly world: Pick<World, 'clock' | 'lanes' | 'index' | 'doorbell'> & { readonly audit: AuditStore };
  /** Of the deployment, by lane. */
  readonly ceilings: Readonly<Record<string, number>>;
}

/** The lanes are the deployment's, not a tenant's: whoever may operate changes them for all. */
export function operateLanesRoute(settings: OperateLanesSettings): Route {
  const route = (answer: (request: AuthenticatedRequest, settings: OperateLanesSettings) => Promise<HttpAnswer>) =>
    authenticated(settings.authenticator, 'operator', (request) => answer(request, settings));
  return byRoute({
    'GET /api/v1/operator/lanes': route(list),
    'PATCH /api/v1/operator/lanes/{lane}': route(change),
  });
}

async function list(request: AuthenticatedRequest, { world, ceilings }: OperateLanesSettings): Promise<HttpAnswer> {
  const names = Object.keys(ceilings).toSorted((one, other) => one.localeCompare(other, 'en'));
  const lanes = await Promise.all(
    names.map(async (name) => bodyOf(await world.lanes.read(name), ceilings[name] ?? 0, world)),
  );
  const body: z.infer<typeof laneListSchema> = { lanes };
  return answerJson(200, body, request);
}

async function change(request: AuthenticatedRequest, { world, ceilings }: OperateLanesSettings): Promise<HttpAnswer> {
  const { event, requestId, principal, log } = request;
  const name = event.pathParameters?.['lane'] ?? '';
  const ceiling = Object.hasOwn(ceilings, name) ? ceilings[name] : undefined;
  if (ceiling === undefined) return answerProblem({ code: 'lane_not_found' }, { requestId });
  const body = readJsonBody(event, changeLaneBody);
  if (body.kind === 'refused') return answerProblem(body.refusal, { requestId });
  const { cap, state, reason } = body.value;
  const order = { lane: name, cap, state, reason, actor: actorOf(principal) };
  const changed = await changeLane(world, order, ceiling);
  switch (changed.kind) {
    case 'changed': {
      const { lane } = changed;
      log.write('lane_changed', { lane: name, cap: lane.cap, state: lane.state, reason: 'operator' });
      return answerJson(200, await bodyOf(lane, ceiling, world), { requestId });
    }
    case 'over_ceiling':
      return answerProblem({ code: 'cap_above_ceiling', extra: { ceiling } }, { requestId });
    case 'moved_on': {
      const lane = await bodyOf(changed.lane, ceiling, world);
      return answerProblem({ code: 'lane_moved_on', extra: { lane } }, { requestId });
    }
    default:
      return changed satisfies never;
  }
}

async function bodyOf(
  lane: Lane,
  ceiling: number,
  { clock, index }: Pick<World, 'clock' | 'index'>,
): Promise<LaneBody> {
  return {
    lane: lane.lane,
    cap: lane.cap,
    ceiling,
    state: lane.state,
    by: lane.by,
    reason: lane.reason,
    since: lane.since === 0 ? null : new Date(lane.since).toISOString(),
    inFlight: Object.keys(lane.held).length,
    queued: await index.countQueued(lane.lane),
    restsUntil: lane.notBefore > clock.now() ? new Date(lane.notBefore).toISOString() : null,
  };
}
