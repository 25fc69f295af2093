import { afterEach, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import type { State } from '../../../lambdas/domain/job.ts';
import { EventBridgeBus } from '../../../lambdas/progress/event-bridge-bus.ts';
import { ScriptedAwsServer } from '../../fakes/scripted-aws-server.ts';
import { noon, storedJob } from '../../fixtures/stored-job.ts';

const sentBody = z.object({
  Entries: z.tuple([
    z.object({
      EventBusName: z.string(),
      Source: z.string(),
      DetailType: z.string(),
      Time: z.number(),
      Detail: z.string().transform((text): unknown => JSON.parse(text)),
    }),
  ]),
});

let server: ScriptedAwsServer;
let bus: EventBridgeBus;
beforeEach(async () => {
  server = new ScriptedAwsServer();
  const variables = {
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'a-key-id',
    AWS_SECRET_ACCESS_KEY: 'a-secret',
    AWS_ENDPOINT_URL_EVENTBRIDGE: await server.start(),
  };
  bus = new EventBridgeBus('team-bus', async ({ id, state }) => ({ id, status: state }), variables);
});
afterEach(() => server.stop());

const publish = (state: State) => bus.publish({ id: 'job_a.4', at: noon, job: storedJob(state) });
const answerWith = (status: number, body: unknown) => {
  server.answer = () => ({ status, body: JSON.stringify(body) });
};

it.each<[State, string]>([
  ['succeeded', 'Job Succeeded'],
  ['failed', 'Job Failed'],
  ['canceled', 'Job Canceled'],
  ['needs_attention', 'Job Needs Attention'],
])('tells of a job that is %s', async (state, detailType) => {
  answerWith(200, { FailedEntryCount: 0, Entries: [{ EventId: 'e1' }] });
  await publish(state);
  expect(server.calls[0]?.headers).toMatchObject({ 'x-amz-target': 'AWSEvents.PutEvents' });
  const { Entries } = sentBody.parse(JSON.parse(server.calls[0]?.body ?? ''));
  expect(Entries[0]).toEqual({
    EventBusName: 'team-bus',
    Source: 'slowlane',
    DetailType: detailType,
    Time: noon / 1000,
    Detail: { id: 'job_a.4', jobId: 'job_a', owner: 'acme/ann', job: { id: 'job_a', status: state } },
  });
});

it('throws where the bus answered 200 and took nothing: the announcement stays due', async () => {
  answerWith(200, { FailedEntryCount: 1, Entries: [{ ErrorCode: 'ThrottlingException' }] });
  await expect(publish('failed')).rejects.toThrow('ThrottlingException');
});

it.each([400, 403, 500, 503])('throws for %i', async (status) => {
  answerWith(status, {});
  await expect(publish('failed')).rejects.toThrow(`${status}`);
});

it('throws for a 200 that is no answer', async () => {
  server.answer = () => ({ status: 200, body: 'hello' });
  await expect(publish('failed')).rejects.toThrow();
});
