import * as z from 'zod';
import type { Announcement, EventBus } from '../domain/ports.ts';
import type { Job, State } from '../domain/job.ts';
import { awsEndpoint, signedFetch, type AwsVariables } from '../runtime/signed-fetch.ts';

const detailTypes: Partial<Record<State, string>> = {
  succeeded: 'Job Succeeded',
  failed: 'Job Failed',
  canceled: 'Job Canceled',
  needs_attention: 'Job Needs Attention',
};

const answer = z.object({
  FailedEntryCount: z.number().optional(),
  Entries: z.array(z.object({ ErrorCode: z.string().optional() })).optional(),
});

/**
 * The team's event bus: source `slowlane`, detail = the job as its owner sees it, with the announcement's id, on which
 * consumers dedupe.
 */
export class EventBridgeBus implements EventBus {
  readonly #busName: string;
  readonly #render: (job: Job) => Promise<object>;
  readonly #variables: AwsVariables;

  constructor(busName: string, render: (job: Job) => Promise<object>, variables: AwsVariables = process.env) {
    this.#busName = busName;
    this.#render = render;
    this.#variables = variables;
  }

  /** @throws Error where the bus did not take it: the announcement stays due. */
  async publish({ id, at, job }: Announcement): Promise<void> {
    const detail = { id, jobId: job.id, owner: job.owner, job: await this.#render(job) };
    const entry = {
      EventBusName: this.#busName,
      Source: 'slowlane',
      DetailType: detailTypes[job.state] ?? 'Job Changed',
      Time: Math.floor(at / 1000),
      Detail: JSON.stringify(detail),
    };
    const { status, body } = await signedFetch(
      'events',
      {
        method: 'POST',
        url: new URL(`${awsEndpoint('events', this.#variables)}/`),
        headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'AWSEvents.PutEvents' },
        body: JSON.stringify({ Entries: [entry] }),
        timeoutMs: 5_000,
      },
      this.#variables,
    );
    if (status !== 200) throw new Error(`EventBridge answered ${status}`);
    const { FailedEntryCount = 0, Entries = [] } = answer.parse(JSON.parse(body.toString('utf8')));
    if (FailedEntryCount > 0) throw new Error(`EventBridge refused the event: ${Entries[0]?.ErrorCode ?? 'no reason'}`);
  }
}
