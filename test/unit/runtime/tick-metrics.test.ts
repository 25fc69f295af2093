import { expect, it } from 'vitest';
import { createLog } from '../../../lambdas/runtime/log.ts';
import { writeTick } from '../../../lambdas/runtime/tick-metrics.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

function written(errors: readonly unknown[]): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    environment: 'test',
    function: 'reconcile-jobs',
    clock: new ManualClock(),
    writeLine: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  writeTick({ lanes: [], looked: 7, oldestDueMs: 0, flagged: {}, errors }, 1_200, log);
  return lines;
}

it('says what each failed look failed of', () => {
  const error = new Error('Job job_a could not be tended.', { cause: new Error('Throttled') });
  expect(written([error])).toMatchObject([
    {
      event: 'reconcile_step_failed',
      error: { message: 'Job job_a could not be tended.', cause: { message: 'Throttled' } },
    },
    { event: 'reconcile_finished', checked: 7, count: 1, durationMs: 1_200 },
  ]);
});

it('writes no more lines than a person reads, and how many failed in all', () => {
  const lines = written(Array.from({ length: 400 }, () => new Error('Throttled')));
  expect(lines).toHaveLength(51);
  expect(lines.at(-1)).toMatchObject({ count: 400 });
});
