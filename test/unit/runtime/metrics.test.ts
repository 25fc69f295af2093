import { expect, it } from 'vitest';
import { createMetrics } from '../../../lambdas/runtime/metrics.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

function record() {
  const lines: unknown[] = [];
  const clock = new ManualClock();
  const writeLine = (line: string) => lines.push(JSON.parse(line));
  return { metrics: createMetrics({ environment: 'test', clock, writeLine }), lines, now: clock.now() };
}

it('writes a gauge of one lane under that lane only', () => {
  const { metrics, lines, now } = record();
  metrics.put('HeldUnits', 3, 'default');
  expect(lines).toEqual([
    {
      _aws: {
        Timestamp: now,
        CloudWatchMetrics: [
          {
            Namespace: 'Slowlane',
            Dimensions: [['Environment', 'Lane']],
            Metrics: [{ Name: 'HeldUnits', Unit: 'Count' }],
          },
        ],
      },
      Environment: 'test',
      Lane: 'default',
      HeldUnits: 3,
    },
  ]);
});

it.each([
  ['SucceededJobs', [['Environment'], ['Environment', 'Lane']]],
  ['QueueTime', [['Environment'], ['Environment', 'Lane']]],
] as const)('counts %s for the environment too', (name, dimensions) => {
  const { metrics, lines } = record();
  metrics.put(name, 1, 'default');
  expect(lines).toMatchObject([{ _aws: { CloudWatchMetrics: [{ Dimensions: dimensions }] } }]);
});

it('writes what has no parts under the environment', () => {
  const { metrics, lines } = record();
  metrics.put('OldestUnreconciledAge', 1_500);
  metrics.put('ActiveJobs', 2, 'running');
  expect(lines).toMatchObject([
    {
      _aws: {
        CloudWatchMetrics: [
          { Dimensions: [['Environment']], Metrics: [{ Name: 'OldestUnreconciledAge', Unit: 'Milliseconds' }] },
        ],
      },
      OldestUnreconciledAge: 1_500,
    },
    { _aws: { CloudWatchMetrics: [{ Dimensions: [['Environment', 'State']] }] }, State: 'running', ActiveJobs: 2 },
  ]);
});
