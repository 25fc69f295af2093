import * as z from 'zod';
import { receiveVendorEvent, type Received } from '../domain/receive-vendor-event.ts';
import type { World } from '../domain/world.ts';
import { answerNothing, answerProblem, type HttpAnswer } from './answer.ts';
import type { Refusal } from './problem.ts';
import { bodyOf, type HttpRequest, type Route } from './request.ts';

/** The callback URL's own parts. A generation is written in one way only: whatever else stands there, we never sent. */
export const vendorEventPath = z.object({
  vendor: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/),
  jobId: z.string().min(1).max(100),
  generation: z
    .string()
    .regex(/^[1-9]\d{0,8}$/)
    .transform(Number),
  token: z.string().min(1).max(100),
});

export interface ReceiveVendorEventSettings {
  readonly world: World;
  /** Whether we made this URL, for exactly this vendor, job and generation. */
  readonly isOurs: (
    token: string,
    claims: { readonly vendor: string; readonly jobId: string; readonly generation: number },
  ) => Promise<boolean>;
}

/**
 * `POST /api/v1/vendor-events/{vendor}/{jobId}/{generation}/{token}`. The token is verified before anything is read:
 * without one that holds, nobody learns which jobs there are.
 */
export function receiveVendorEventRoute({ world, isOurs }: ReceiveVendorEventSettings): Route {
  return async (request) => {
    const path = vendorEventPath.safeParse(request.event.pathParameters ?? {});
    if (!path.success) return refuse(request, 'url_malformed', { code: 'vendor_event_unauthorized' });
    const { token, ...claims } = path.data;
    if (!(await isOurs(token, claims))) {
      return refuse(request, 'token_forged', { code: 'vendor_event_unauthorized' }, claims.vendor);
    }
    const { headers } = request.event;
    const event = { headers, body: bodyOf(request.event), at: world.clock.now() };
    try {
      return answer(await receiveVendorEvent(world, { ...claims, event }), claims, request);
    } finally {
      await world.feed.flush();
    }
  };
}

function answer(
  received: Received,
  { vendor, jobId, generation }: { readonly vendor: string; readonly jobId: string; readonly generation: number },
  request: HttpRequest,
): HttpAnswer {
  switch (received.kind) {
    case 'taken':
      request.log.about({ jobId }).write('vendor_event_received', { vendor, generation, outcome: 'taken' });
      return answerNothing(204, request);
    case 'unknown_job':
      return refuse(request, 'unknown_job', { code: 'job_not_found' }, vendor);
    case 'refused':
      return refuse(request, received.reason, refusalOf(received.reason), vendor);
    default:
      return received satisfies never;
  }
}

function refusalOf(reason: Extract<Received, { kind: 'refused' }>['reason']): Refusal {
  switch (reason) {
    case 'unsigned':
    case 'bad_signature':
      return { code: 'vendor_event_unauthorized' };
    case 'stale':
      return { code: 'vendor_event_stale' };
    case 'malformed':
      return { code: 'body_malformed' };
    default:
      return reason satisfies never;
  }
}

function refuse({ log, requestId }: HttpRequest, reason: string, refusal: Refusal, vendor?: string): HttpAnswer {
  log.write('vendor_event_refused', { vendor, reason });
  return answerProblem(refusal, { requestId });
}
