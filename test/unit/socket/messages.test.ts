import { describe, expect, it } from 'vitest';
import { PROBLEMS } from '../../../lambdas/http/problem.ts';
import { outgoingSchema, problemMessage, readCommand } from '../../../lambdas/socket/messages.ts';

const ids = (count: number) => Array.from({ length: count }, (_, index) => `job_${index}`);
const text = (value: unknown) => JSON.stringify(value);

describe('a command', () => {
  it.each([
    [{ action: 'follow', jobIds: ids(1) }],
    [{ action: 'follow', jobIds: ids(20) }],
    [{ action: 'unfollow', jobIds: ids(3) }],
    [{ action: 'ping' }],
  ])('is read: %j', (command) => {
    expect(readCommand(text(command))).toEqual({ kind: 'command', command });
  });

  it.each([
    [''],
    ['ping'],
    ['null'],
    ['[]'],
    ['{"action":"ping"'],
    [text({ action: 'shout' })],
    [text({ jobIds: ids(1) })],
    [text({ action: 'follow' })],
    [text({ action: 'follow', jobIds: [] })],
    [text({ action: 'follow', jobIds: 'job_1' })],
    [text({ action: 'follow', jobIds: [''] })],
    [text({ action: 'follow', jobIds: ['x'.repeat(101)] })],
    [text({ action: 'follow', jobIds: [null] })],
    [text({ action: 'follow', jobIds: ids(1), owner: 'acme/ben' })],
    ['['.repeat(4_000)],
  ])('is refused, not thrown at: %s', (body) => {
    expect(readCommand(body)).toMatchObject({ kind: 'refused', refusal: { code: 'message_invalid' } });
  });

  it('says which limit it is over', () => {
    const many = readCommand(text({ action: 'follow', jobIds: ids(21) }));
    expect(many).toMatchObject({ refusal: { detail: 'At most 20 jobs in one message.' } });
    const long = readCommand(text({ action: 'ping', padding: 'x'.repeat(5_000) }));
    expect(long).toMatchObject({ refusal: { detail: 'A message has at most 4096 characters.' } });
  });
});

it('tells of a problem by the codes of the HTTP API', () => {
  const message = problemMessage({ code: 'job_not_found' }, 'job_1');
  const detail = PROBLEMS.job_not_found.docs;
  expect(message).toEqual({ type: 'problem', code: 'job_not_found', detail, jobId: 'job_1' });
  expect(outgoingSchema.parse(message)).toEqual(message);
});
