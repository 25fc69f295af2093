import { beforeEach, describe, expect, it } from 'vitest';
import { applyWord } from '../../lambdas/domain/apply-word.ts';
import { resultKeyOf } from '../../lambdas/domain/job.ts';
import { succeeded } from '../fakes/told-vendor.ts';
import { OperatorGateway } from '../fixtures/operator-gateway.ts';
import { noon, storedJob } from '../fixtures/stored-job.ts';

let gateway: OperatorGateway;
beforeEach(() => {
  gateway = new OperatorGateway();
});

/** As the worker read it, before it stalled. */
const seen = storedJob('running');

const takeResult = async () =>
  await applyWord(gateway.world, seen, gateway.studio, succeeded, new AbortController().signal);

describe('a worker that stalled with the picture in its hands', () => {
  it('leaves nothing of a job that was erased meanwhile', async () => {
    await gateway.jobs.erase(gateway.put('succeeded'), noon);
    expect(await takeResult()).toEqual({ kind: 'moved_on' });
    expect(gateway.files.keys).toEqual([]);
  });

  it('keeps the picture of a job that another one ended with it', async () => {
    gateway.put('succeeded');
    expect(await takeResult()).toEqual({ kind: 'moved_on' });
    expect(gateway.files.keys).toEqual([resultKeyOf(seen, 0)]);
  });

  it('ends the job with it, where nobody else did', async () => {
    gateway.put('running');
    expect(await takeResult()).toMatchObject({ kind: 'settled', job: { state: 'succeeded' } });
    expect(gateway.files.keys).toEqual([resultKeyOf(seen, 0)]);
  });
});
