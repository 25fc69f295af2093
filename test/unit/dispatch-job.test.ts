import { describe, expect, it } from 'vitest';
import { dispatchJob } from '../../lambdas/domain/dispatch-job.ts';
import type { World } from '../../lambdas/domain/world.ts';
import { OperatorGateway } from '../fixtures/operator-gateway.ts';
import { noon } from '../fixtures/stored-job.ts';

describe('a job whose input can not be read just now', () => {
  function brokenStore() {
    const gateway = new OperatorGateway();
    gateway.studio.traits = { ...gateway.studio.traits, dedupe: 'none', dedupeMs: 0 };
    gateway.files.get = () => Promise.reject(new Error('S3 does not answer.'));
    const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
    return { gateway, dispatch: () => dispatchJob(gateway.world, { lane: 'default', hint: undefined }, shift) };
  }

  it('goes back to the queue and frees its unit, since nothing was sent', async () => {
    const { gateway, dispatch } = brokenStore();
    gateway.put('queued');
    await expect(dispatch()).rejects.toThrow('S3 does not answer.');
    expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'queued', hold: undefined, tries: 1, maybeSent: false });
    expect(gateway.lanes.get('default').held).toEqual({});
    expect(gateway.doorbell.rings).toEqual([{ lane: 'default', hint: undefined, delayMs: 2_000 }]);
    expect(gateway.studio.submissions).toEqual([]);
  });

  it('ends when its budget is spent, and costs nothing', async () => {
    const { gateway, dispatch } = brokenStore();
    gateway.put('queued', { tries: gateway.studio.traits.maxSends - 1 });
    await expect(dispatch()).rejects.toThrow('S3 does not answer.');
    expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'failed', failure: { code: 'sends_spent' } });
  });
});

describe('a lane that may not be used yet', () => {
  const ringsAfter = async (waitMs: number) => {
    const gateway = new OperatorGateway();
    gateway.put('queued');
    gateway.lanes.put({ ...gateway.lanes.get('default'), notBefore: gateway.clock.now() + waitMs });
    const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
    await dispatchJob(gateway.world, { lane: 'default', hint: 'job_a' }, shift);
    expect(gateway.studio.submissions).toEqual([]);
    return gateway.doorbell.rings;
  };

  it('is rung for again after a short wait', async () => {
    expect(await ringsAfter(2_000)).toEqual([{ lane: 'default', hint: undefined, delayMs: 2_000 }]);
  });

  it('is left to the ticks for a long one: the rings of a long queue must not go round in it', async () => {
    expect(await ringsAfter(60_000)).toEqual([]);
  });
});

it('a probe that is answered opens its lane, and rings for as many as have room', async () => {
  const gateway = new OperatorGateway();
  for (const id of ['job_a', 'job_b', 'job_c']) gateway.put('queued', { id, picture: undefined });
  await gateway.jobs.putRequest('job_a', 'submit-1', { parameters: {}, metadata: undefined, consent: undefined });
  gateway.lanes.put({ ...gateway.lanes.get('default'), cap: 2, state: 'tripped', since: noon, notBefore: noon });
  gateway.studio.words.set('vendor-job-1', { kind: 'canceled' });
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  await dispatchJob(gateway.world, { lane: 'default', hint: undefined }, shift);
  expect(gateway.lanes.get('default')).toMatchObject({ state: 'open', by: 'probe' });
  const [first] = gateway.doorbell.rings;
  expect(first).toEqual({ lane: 'default', hint: 'job_b', delayMs: 0 });
});

it('a probe keeps its receipt although its lane can not be opened, and fails only then', async () => {
  const gateway = new OperatorGateway();
  gateway.put('queued', { picture: undefined });
  await gateway.jobs.putRequest('job_a', 'submit-1', { parameters: {}, metadata: undefined, consent: undefined });
  gateway.lanes.put({ ...gateway.lanes.get('default'), state: 'tripped', since: noon, notBefore: noon });
  gateway.lanes.change = () => Promise.reject(new Error('The table does not answer.'));
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  const dispatched = dispatchJob(gateway.world, { lane: 'default', hint: undefined }, shift);
  await expect(dispatched).rejects.toThrow('does not answer');
  expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'running', vendorJobId: 'vendor-job-1' });
});

it('a ring whose hint took a whole send goes on in a fresh worker: another send might be cut off', async () => {
  const gateway = new OperatorGateway();
  const { studio } = gateway;
  gateway.put('dispatching', { id: 'job_lost', picture: undefined, sends: 1, dispatchBy: noon - 1 });
  gateway.put('queued', { id: 'job_b', picture: undefined });
  for (const id of ['job_lost', 'job_b']) {
    await gateway.jobs.putRequest(id, 'submit-1', { parameters: {}, metadata: undefined, consent: undefined });
  }
  studio.submit = async (submission) => {
    studio.submissions.push(submission);
    await gateway.clock.advance(190_000);
    return { kind: 'refused', status: 422, message: 'No.' };
  };
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  await dispatchJob(gateway.world, { lane: 'default', hint: 'job_lost' }, shift);
  expect(studio.submissions.map(({ vendorKey }) => vendorKey)).toEqual(['job_lost.1']);
  expect(gateway.jobs.get('job_b').state).toBe('queued');
  expect(gateway.doorbell.rings.at(-1)).toEqual({ lane: 'default', hint: undefined, delayMs: 0 });
});

it('a job that our account may not send is not the next probe of its lane, too', async () => {
  const gateway = new OperatorGateway();
  const { studio } = gateway;
  for (const [rank, id] of ['job_a', 'job_b'].entries()) {
    gateway.put('queued', { id, rank, picture: undefined });
    await gateway.jobs.putRequest(id, 'submit-1', { parameters: {}, metadata: undefined, consent: undefined });
  }
  studio.outcome = { kind: 'account-refused', status: 403, message: 'Not with this prompt.' };
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  await dispatchJob(gateway.world, { lane: 'default', hint: undefined }, shift);
  expect(gateway.lanes.get('default').state).toBe('tripped');
  await gateway.clock.advance(60_000);
  await dispatchJob(gateway.world, { lane: 'default', hint: undefined }, shift);
  expect(studio.submissions.map(({ vendorKey }) => vendorKey)).toEqual(['job_a.1', 'job_b.1']);
  expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'queued', tries: 0 });
});

it('tells the followers of an end before the worker fails, whatever fails after it', async () => {
  const gateway = new OperatorGateway();
  gateway.put('running', { followers: ['socket-1'] });
  gateway.studio.words.set('vendor-job-1', { kind: 'canceled' });
  const heard: string[] = [];
  const waiting: string[] = [];
  const world: World = {
    ...gateway.world,
    bus: { publish: () => Promise.reject(new Error('The bus does not answer.')) },
    feed: {
      send: (_, message) => void waiting.push(message.type === 'job' ? message.job.state : message.type),
      flush: async () => void heard.push(...waiting.splice(0)),
    },
  };
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  await expect(dispatchJob(world, { lane: 'default', hint: 'job_a' }, shift)).rejects.toThrow('The bus');
  expect(heard).toEqual(['canceled']);
});
