import { describe, expect, it } from 'vitest';
import { dispatchJob } from '../../lambdas/domain/dispatch-job.ts';
import { reconcileJobs } from '../../lambdas/domain/reconcile-jobs.ts';
import type { Shift } from '../../lambdas/domain/watch-job.ts';
import type { World } from '../../lambdas/domain/world.ts';
import { succeeded } from '../fakes/told-vendor.ts';
import { OperatorGateway } from '../fixtures/operator-gateway.ts';
import { noon } from '../fixtures/stored-job.ts';

/** A deployment that no longer configures a vendor, while jobs of it are under way. */
class WithoutVendor extends OperatorGateway {
  readonly without: World = {
    ...this.world,
    vendors: { named: (name) => (name === 'blind' ? this.blind : undefined) },
  };

  shift(): Shift {
    return { endsAt: this.clock.now() + 300_000, signal: new AbortController().signal };
  }

  async tickAt(at: number): Promise<void> {
    await this.clock.advanceTo(at);
    const { errors } = await reconcileJobs(this.without, ['default'], new Map(), this.shift());
    expect(errors).toEqual([]);
  }
}

describe('a job whose vendor is no longer configured', () => {
  it('is flagged once its answer is overdue: nobody can tell whether it was taken', async () => {
    const gateway = new WithoutVendor();
    const { hold } = gateway.put('dispatching', { checkAt: noon + 120_000 });
    await gateway.tickAt(noon + 120_000);
    expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'needs_attention', flag: { code: 'worker_lost' }, hold });
    expect(await gateway.evidence.read('job_a')).toMatchObject([{ what: 'worker_lost' }]);
  });

  it('runs on until its deadline, and is flagged then', async () => {
    const gateway = new WithoutVendor();
    const { hold } = gateway.put('running', { checkAt: noon + 60_000 });
    await gateway.tickAt(noon + 120_000);
    expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'running', checkAt: noon + 120_001 });
    await gateway.tickAt(noon + 600_000);
    expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'needs_attention', flag: { code: 'overdue' }, hold });
    expect(await gateway.evidence.read('job_a')).toMatchObject([{ what: 'overdue' }]);
  });

  it('expires in the queue', async () => {
    const gateway = new WithoutVendor();
    gateway.put('queued', { checkAt: noon + 3_600_000 });
    await gateway.tickAt(noon + 3_600_000);
    expect(gateway.jobs.get('job_a')).toMatchObject({ state: 'failed', failure: { code: 'expired_in_queue' } });
  });

  it('does not stand before the jobs of other vendors, however many there are of it', async () => {
    const gateway = new WithoutVendor();
    for (let rank = 1; rank <= 60; rank += 1) gateway.put('queued', { id: `job_${rank}`, rank });
    gateway.put('queued', { id: 'job_sent', rank: 61, vendor: 'blind', picture: undefined });
    await gateway.jobs.putRequest('job_sent', 'submit-1', {
      parameters: {},
      metadata: undefined,
      consent: undefined,
    });
    await dispatchJob(gateway.without, { lane: 'default', hint: undefined }, gateway.shift());
    expect(gateway.blind.submissions.map(({ vendorKey }) => vendorKey)).toEqual(['job_sent.1']);
  });
});

describe('a job whose lane is no longer in the deployment', () => {
  it('is tended all the same, and told of at each tick', async () => {
    const gateway = new OperatorGateway();
    gateway.put('running', { lane: 'slow', checkAt: noon + 60_000 });
    gateway.studio.words.set('vendor-job-1', succeeded);
    await gateway.clock.advanceTo(noon + 120_000);
    const shift = { endsAt: noon + 420_000, signal: new AbortController().signal };
    const { errors } = await reconcileJobs(gateway.world, ['default'], new Map(), shift);
    expect(gateway.jobs.get('job_a').state).toBe('succeeded');
    expect(errors).toMatchObject([{ message: 'Job job_a is of lane slow, which is not deployed.' }]);
  });
});
