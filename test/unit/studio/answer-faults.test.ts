import { describe, expect, test } from 'vitest';

import { openStudio, tickingJob } from './studio-client.ts';

const routes = [
  { point: 'status', path: '', method: 'GET' },
  { point: 'cancel', path: '/cancel', method: 'POST' },
  { point: 'result', path: '/result', method: 'GET' },
] as const;

describe.each(routes)('faults at $point', ({ point, path, method }) => {
  async function finishedJob() {
    const studio = await openStudio();
    const { id } = await studio.accepted();
    await studio.jobWith(id, 'succeeded');
    return { studio, ask: () => studio.get(`/api/v1/jobs/${id}${path}`, { method }) };
  }

  test('silent holds the connection until faults are cleared', async () => {
    const { studio, ask } = await finishedJob();
    await studio.fault({ point, fault: 'silent', times: 1 });
    const answer = ask().then(
      ({ status }) => status,
      () => 'cut',
    );
    await expect
      .poll(async () => (await studio.get('/control/faults')).json(), { timeout: 20_000 })
      .toEqual({ faults: [] });
    await studio.clearFaults();
    expect(await answer).toBe('cut');
    expect((await ask()).ok).toBe(true);
  });

  test('drop cuts it before the answer is whole', async () => {
    const { studio, ask } = await finishedJob();
    await studio.fault({ point, fault: 'drop', times: 1 });
    await expect(ask().then((answer) => answer.bytes())).rejects.toThrow(/fetch failed|terminated/);
    expect((await ask()).ok).toBe(true);
  });

  test('status answers it', async () => {
    const { studio, ask } = await finishedJob();
    await studio.fault({ point, fault: 'status', status: 503, retryAfter: 1, times: 2 });
    expect((await ask()).status).toBe(503);
    expect((await ask()).headers.get('retry-after')).toBe('1');
    expect((await ask()).ok).toBe(true);
  });

  test('delay answers late', async () => {
    const { studio, ask } = await finishedJob();
    await studio.fault({ point, fault: 'delay', seconds: 0.2, times: 1 });
    const startedAtMs = performance.now();
    expect((await ask()).ok).toBe(true);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(195);
  });
});

test('garbage-2xx at status is a page', async () => {
  const studio = await openStudio();
  const { id } = await studio.accepted();
  await studio.fault({ point: 'status', fault: 'garbage-2xx' });
  const answer = await studio.get(`/api/v1/jobs/${id}`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html']);
});

describe('faults at run', () => {
  test('fail ends the job with its reason', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'run', fault: 'fail', error: 'no film left', times: 1 });
    const { id } = await studio.accepted();
    expect(await studio.jobWith(id, 'failed')).toMatchObject({ error: 'no film left', result: null });
  });

  test('slow holds the work up, and ends when faults are cleared', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'run', fault: 'slow', seconds: 3_600, times: 1 });
    const { id } = await studio.accepted();
    await studio.jobWith(id, 'running');
    await studio.clearFaults();
    await studio.jobWith(id, 'succeeded');
  });

  test.each([
    ['fail', 'failed'],
    ['ticks', 'succeeded'],
  ] as const)('%s ends when it is hurried, and the next is drawn out again', async (fault, end) => {
    const studio = await openStudio();
    const drawnOut = { point: 'run', fault, seconds: 3_600, ...(fault === 'ticks' && { perSecond: 1 }) };
    await studio.fault({ ...drawnOut, times: 1 });
    const { id } = await studio.accepted();
    const struck = async () => (await studio.get('/control/faults')).json();
    await expect.poll(struck, { timeout: 20_000 }).toEqual({ faults: [] });
    await studio.fault({ ...drawnOut, times: 1 });
    await studio.hurry();
    await studio.jobWith(id, end);
    const next = await studio.accepted();
    await studio.jobWith(next.id, 'running');
    await expect.poll(struck, { timeout: 20_000 }).toEqual({ faults: [] });
    expect(await studio.job(next.id)).toMatchObject({ status: 'running' });
  });

  test('ticks reports at its rate, without work', async () => {
    const { studio, id, begin } = await tickingJob();
    const { events } = await studio.events(id, begin);
    const percents = events.filter(({ event }) => event === 'progress').map(({ job }) => job.progress.percent);
    expect(percents).toEqual(Array.from({ length: 20 }, (_, index) => (index + 1) * 5));
    const { job } = events.at(-1)!;
    expect(job).toMatchObject({ status: 'succeeded', result: { width: 32, height: 24 } });
    expect(Date.parse(job.finishedAt!) - Date.parse(job.startedAt!)).toBeGreaterThanOrEqual(490);
  });
});
