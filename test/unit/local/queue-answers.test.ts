import { expect, it } from 'vitest';
import type { InvocationOutcome } from '../../../local/runtime/functions.ts';
import { matchesEventPattern } from '../../../local/runtime/event-pattern.ts';
import { failedMessages } from '../../../local/runtime/queues.ts';
import { rateMs } from '../../../local/runtime/schedules.ts';

const batch = new Set(['a', 'b']);
const answered = (payload: unknown): InvocationOutcome => ({ kind: 'answered', payload });
const failures = (...ids: unknown[]) =>
  answered({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });

it.each<[string, InvocationOutcome, string[]]>([
  ['an empty list', failures(), []],
  ['no answer', answered(null), []],
  ['an absent list', answered({}), []],
  ['a null list', answered({ batchItemFailures: null }), []],
  ['one message', failures('b'), ['b']],
  ['an empty identifier', failures(''), ['a', 'b']],
  ['a null identifier', failures('a', null), ['a', 'b']],
  ['an unknown identifier', failures('c'), ['a', 'b']],
  ['another member name', answered({ batchItemFailures: [{ id: 'a' }] }), ['a', 'b']],
  ['a list that is none', answered({ batchItemFailures: 'a' }), ['a', 'b']],
  ['a crash', { kind: 'failed', error: { errorType: 'Error', errorMessage: '', trace: [] } }, ['a', 'b']],
  ['a throttle', { kind: 'throttled' }, ['a', 'b']],
])('%s leaves its messages in the queue', (_, outcome, left) => {
  expect([...failedMessages(outcome, batch, true)]).toEqual(left);
});

it('takes any answer for success where partial answers are not asked for', () => {
  expect([...failedMessages(failures('a'), batch, false)]).toEqual([]);
});

it('knows the rates that schedules are made of', () => {
  expect([rateMs('rate(1 minute)'), rateMs('rate(5 minutes)'), rateMs('rate(1 hour)'), rateMs('rate(2 days)')]).toEqual(
    [60_000, 300_000, 3_600_000, 172_800_000],
  );
  expect(() => rateMs('cron(0 12 * * ? *)')).toThrow(/rates only/);
});

it('matches events as a rule does', () => {
  const event = { source: 'slowlane', 'detail-type': 'Job Failed', detail: { jobId: 'job_1', status: 'failed' } };
  expect(matchesEventPattern({ source: ['slowlane'], detail: { status: ['failed', 'canceled'] } }, event)).toBe(true);
  expect(matchesEventPattern({ source: ['other'] }, event)).toBe(false);
  expect(matchesEventPattern({ 'detail-type': [{ prefix: 'Job ' }] }, event)).toBe(true);
  expect(matchesEventPattern({ detail: { result: [{ exists: false }] } }, event)).toBe(true);
  expect(matchesEventPattern({ detail: { status: [{ 'anything-but': ['failed'] }] } }, event)).toBe(false);
  expect(() => matchesEventPattern({ source: [{ suffix: 'x' }] }, event)).toThrow(/no pattern operator/);
});
