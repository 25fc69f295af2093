import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { InvocationOutcome } from '../../../local/runtime/functions.ts';
import { Schedules, type Invocable } from '../../../local/runtime/schedules.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const failed: InvocationOutcome = { kind: 'failed', error: { errorType: 'Error', errorMessage: '', trace: [] } };

class RecordingFunction implements Invocable {
  readonly events: unknown[] = [];
  readonly #outcome: InvocationOutcome;

  constructor(outcome: InvocationOutcome = { kind: 'answered', payload: null }) {
    this.#outcome = outcome;
  }

  invoke(event: unknown): Promise<InvocationOutcome> {
    this.events.push(event);
    return Promise.resolve(this.#outcome);
  }
}

const tick = (target: Invocable, retries = 2) => ({ everyMs: 60_000, event: () => 'tick', function: target, retries });

it('fires at the start and at every interval, until it is stopped', async () => {
  const target = new RecordingFunction();
  const schedules = new Schedules([tick(target)], []);
  schedules.start();
  expect(target.events).toEqual(['tick']);
  await vi.advanceTimersByTimeAsync(180_000);
  expect(target.events).toHaveLength(4);
  schedules.stop();
  await vi.advanceTimersByTimeAsync(180_000);
  expect(target.events).toHaveLength(4);
});

it('repeats a failed invocation as often as the function allows, after one minute and then after two', async () => {
  const target = new RecordingFunction(failed);
  const schedules = new Schedules(
    [],
    [{ bus: 'jobs', pattern: { source: ['slowlane'] }, function: target, retries: 2 }],
  );
  schedules.receive(event('jobs', 'slowlane'));
  await vi.advanceTimersByTimeAsync(59_999);
  expect(target.events).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(target.events).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(119_999);
  expect(target.events).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(target.events).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(target.events).toHaveLength(3);
});

it('repeats nothing where the template says so', async () => {
  const target = new RecordingFunction(failed);
  const schedules = new Schedules([tick(target, 0)], []);
  schedules.start();
  await vi.advanceTimersByTimeAsync(59_000);
  expect(target.events).toHaveLength(1);
  schedules.stop();
});

it('hands an event to the functions whose rule matches it, on its own bus', () => {
  const target = new RecordingFunction();
  const schedules = new Schedules(
    [],
    [{ bus: 'jobs', pattern: { source: ['slowlane'] }, function: target, retries: 0 }],
  );
  schedules.receive(event('jobs', 'slowlane'));
  schedules.receive(event('jobs', 'other'));
  schedules.receive(event('default', 'slowlane'));
  expect(target.events).toEqual([expect.objectContaining({ source: 'slowlane', detail: { jobId: 'job_1' } })]);
  expect(target.events[0]).not.toHaveProperty('bus');
});

function event(bus: string, source: string) {
  return {
    bus,
    source,
    version: '0' as const,
    id: 'event',
    'detail-type': 'Job Succeeded',
    account: '000000000000',
    time: '2026-11-30T23:05:01.000Z',
    region: 'us-east-1',
    resources: [],
    detail: { jobId: 'job_1' },
  };
}
