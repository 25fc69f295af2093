import { describe, expect, test } from 'vitest';
import {
  environmentWith,
  idPart,
  onlyResource,
  resourcesOf,
  synthesize,
  templatesOf,
  type Templates,
} from './synthesized.ts';

const queue = 'AWS::SQS::Queue';

function worker({ gateway }: Templates, lane = 'default') {
  return onlyResource(gateway, 'AWS::Lambda::Function', idPart(`dispatch-job-${lane}`)).Properties;
}

function mapping({ gateway }: Templates, lane = 'default') {
  return onlyResource(gateway, 'AWS::Lambda::EventSourceMapping', `Lane${lane}`).Properties;
}

describe('a lane', () => {
  const local = templatesOf('local');

  test('is served one job at a time per worker, and says which ring failed', () => {
    expect(mapping(local)).toMatchObject({ BatchSize: 1, FunctionResponseTypes: ['ReportBatchItemFailures'] });
  });

  test.each(['local', 'staging', 'prod'] as const)('never polls for more workers than it reserves (%s)', (name) => {
    const templates = templatesOf(name);
    const { MaximumConcurrency } = mapping(templates)['ScalingConfig'] as { MaximumConcurrency: number };
    expect(MaximumConcurrency).toBeLessThanOrEqual(worker(templates)['ReservedConcurrentExecutions'] as number);
  });

  test('of ceiling 1 has two workers, the least that a mapping takes; its holds keep the cap', () => {
    const lanes = { default: { cap: 1, ceiling: 1 } };
    const templates = synthesize(environmentWith({ accountConcurrencyQuota: 1000, lanes }));
    expect(mapping(templates)['ScalingConfig']).toEqual({ MaximumConcurrency: 2 });
    expect(worker(templates)['ReservedConcurrentExecutions']).toBe(2);
  });

  test('hides a ring for longer than a worker lives', () => {
    const { VisibilityTimeout } = onlyResource(local.gateway, queue, 'Rings').Properties;
    expect(VisibilityTimeout).toBeGreaterThan(worker(local)['Timeout'] as number);
    expect(worker(local)['Timeout']).toBe(300);
  });

  test('keeps what crashed its workers for 14 days, longer than any ring', () => {
    const rings = onlyResource(local.gateway, queue, 'Rings').Properties;
    const deadLetters = onlyResource(local.gateway, queue, 'DeadLetters').Properties;
    expect(rings['RedrivePolicy']).toMatchObject({ maxReceiveCount: 5 });
    expect(deadLetters['MessageRetentionPeriod']).toBe(14 * 24 * 60 * 60);
    expect(rings['MessageRetentionPeriod']).toBeLessThan(deadLetters['MessageRetentionPeriod'] as number);
  });

  test('is rung by its own worker without end', () => {
    expect(worker(local)['RecursiveLoop']).toBe('Allow');
  });

  test('encrypts its queues, and takes messages over TLS only', () => {
    const queues = resourcesOf(local.gateway, queue);
    expect(Object.values(queues).every(({ Properties }) => Properties['SqsManagedSseEnabled'] === true)).toBe(true);
    const policies = Object.values(resourcesOf(local.gateway, 'AWS::SQS::QueuePolicy'));
    expect(policies).toHaveLength(Object.keys(queues).length);
    expect(JSON.stringify(policies).match(/"aws:SecureTransport":"false"/g)).toHaveLength(policies.length);
  });
});

describe('two lanes', () => {
  const templates = synthesize(
    environmentWith({
      accountConcurrencyQuota: 1000,
      lanes: { default: { cap: 2, ceiling: 8 }, slow: { cap: 1, ceiling: 3 } },
    }),
  );

  test('have a worker each, which knows its lane', () => {
    for (const [lane, workers] of [
      ['default', 8],
      ['slow', 3],
    ] as const) {
      expect(worker(templates, lane)['ReservedConcurrentExecutions']).toBe(workers);
      expect(worker(templates, lane)['Environment']).toMatchObject({ Variables: { LANE: lane } });
    }
  });

  test('have a queue each, and their worker is woken by their own', () => {
    expect(JSON.stringify(mapping(templates, 'slow')['EventSourceArn'])).toContain('LaneslowRings');
    expect(JSON.stringify(mapping(templates, 'slow')['FunctionName'])).toContain(idPart('dispatch-job-slow'));
  });
});

test('a worker may use every vendor: queued jobs keep theirs when their feature moves to another vendor or lane', () => {
  const vendor = { adapter: 'jobs-api', baseUrl: 'https://images.example.com', dedupe: 'none' } as const;
  const templates = synthesize(environmentWith({ vendors: { images: vendor, formerly: vendor } }));
  const { Policies } = onlyResource(templates.gateway, 'AWS::IAM::Role', idPart('dispatch-job-default')).Properties;
  expect(JSON.stringify(Policies)).toContain('VendorSecretformerly');
});

test('an account with a quota of 10 deploys without a reservation; the mapping alone bounds the workers', () => {
  const templates = synthesize(environmentWith({ accountConcurrencyQuota: 10 }));
  expect(JSON.stringify(templates.gateway.toJSON())).not.toContain('ReservedConcurrentExecutions');
  expect(mapping(templates)['ScalingConfig']).toEqual({ MaximumConcurrency: 20 });
});
