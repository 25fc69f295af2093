import { expect, it } from 'vitest';
import { reconcileJobs } from '../../lambdas/domain/reconcile-jobs.ts';
import type { World } from '../../lambdas/domain/world.ts';
import { succeeded } from '../fakes/told-vendor.ts';
import { OperatorGateway } from '../fixtures/operator-gateway.ts';
import { noon } from '../fixtures/stored-job.ts';

it('a bus that does not answer keeps no flagged job from its truth, and its event stays due', async () => {
  const gateway = new OperatorGateway();
  const bus = { publish: () => Promise.reject(new Error('The bus does not answer.')) };
  const world: World = { ...gateway.world, bus };
  gateway.put('needs_attention', { vendorJobId: 'vendor-job-1', checkAt: noon + 60_000 });
  gateway.studio.words.set('vendor-job-1', succeeded);
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  const { errors } = await reconcileJobs(world, ['default'], new Map(), shift);
  expect(errors).toMatchObject([{ cause: { message: 'The bus does not answer.' } }]);
  expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'succeeded', announce: 4, hold: undefined });
  expect(gateway.lanes.get('default').held).toEqual({});
  await reconcileJobs(gateway.world, ['default'], new Map(), shift);
  expect(gateway.announced.map(({ id }) => id)).toEqual(['job_a.4']);
});

it('an ended job whose event is due lets the others go first at the next tick', async () => {
  const gateway = new OperatorGateway();
  const silent: World = {
    ...gateway.world,
    bus: { publish: () => Promise.reject(new Error('The bus does not answer.')) },
  };
  gateway.put('succeeded', { announce: 4, version: 4, checkAt: noon });
  const shift = { endsAt: noon + 300_000, signal: new AbortController().signal };
  expect((await reconcileJobs(silent, ['default'], new Map(), shift)).errors).toHaveLength(1);
  expect(gateway.jobs.get('job_a')).toMatchObject({ announce: 4, checkAt: noon + 60_001 });
  await gateway.clock.advance(60_000);
  await reconcileJobs(gateway.world, ['default'], new Map(), shift);
  expect(gateway.announced.map(({ id }) => id)).toEqual(['job_a.4']);
});
