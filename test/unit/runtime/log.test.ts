import { expect, it } from 'vitest';
import { withinInvocation } from '../../../lambdas/runtime/invocation.ts';
import { createLog, LOG_EVENTS, type LogFieldsOf } from '../../../lambdas/runtime/log.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

function record() {
  const lines: string[] = [];
  const log = createLog({
    environment: 'test',
    function: 'submit-job',
    clock: new ManualClock(),
    writeLine: (line) => lines.push(line),
  });
  return { log, parsed: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

it('writes one JSON line with its context', () => {
  const { log, parsed } = record();
  log
    .about({ requestId: 'r1' })
    .about({ jobId: 'job_1' })
    .write('job_submitted', { feature: 'upscale', lane: 'default' });
  log.write('socket_opened', {});
  expect(parsed()).toEqual([
    {
      at: '2026-01-01T00:00:00.000Z',
      level: 'info',
      event: 'job_submitted',
      environment: 'test',
      function: 'submit-job',
      requestId: 'r1',
      jobId: 'job_1',
      feature: 'upscale',
      lane: 'default',
    },
    {
      at: '2026-01-01T00:00:00.000Z',
      level: 'info',
      event: 'socket_opened',
      environment: 'test',
      function: 'submit-job',
    },
  ]);
});

it('never writes a field that the event does not list', () => {
  const { log, parsed } = record();
  const leaky = { feature: 'upscale', apiKey: 'sl_prod_secret', params: { prompt: 'private' } };
  const fields: LogFieldsOf<'job_submitted'> = leaky;
  log.write('job_submitted', fields);
  expect(parsed()[0]).toMatchObject({ feature: 'upscale' });
  expect(JSON.stringify(parsed())).not.toMatch(/secret|private/);
});

it('describes an error with its cause, within bounds', () => {
  const { log, parsed } = record();
  log.write('request_failed', { error: new TypeError('x'.repeat(2_000), { cause: new Error('reset') }) });
  const { error } = parsed()[0] as { error: { name: string; message: string; stack: string; cause: object } };
  expect(error.name).toBe('TypeError');
  expect(error.message).toHaveLength(501);
  expect(error.stack.length).toBeLessThanOrEqual(2_000);
  expect(error.cause).toMatchObject({ name: 'Error', message: 'reset' });
  log.write('request_failed', { error: 'a string that somebody threw, with who knows what in it' });
  expect(parsed()[1]).toMatchObject({ error: { name: 'string' } });
});

it('names events in one style', () => {
  for (const name of Object.keys(LOG_EVENTS)) expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
});

it('names the invocation on every line below its entry, and mixes up no two of them', async () => {
  const { log, parsed } = record();
  const invocation = (requestId: string) =>
    withinInvocation(requestId, async () => {
      await Promise.resolve();
      log.about({ jobId: `job of ${requestId}` }).write('hold_taken', { lane: 'default' });
    });
  await Promise.all([invocation('r1'), invocation('r2')]);
  log.write('socket_opened', {});
  expect(parsed().map(({ requestId, jobId }) => [requestId, jobId])).toEqual([
    ['r1', 'job of r1'],
    ['r2', 'job of r2'],
    [undefined, undefined],
  ]);
});
