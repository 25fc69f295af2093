import { expect, test } from 'vitest';

import { openStudio, tickingJob } from './studio-client.ts';

test('a stream begins with the job as it stands, and ends with its end', async () => {
  const { studio, id, begin } = await tickingJob();
  const { events, broke } = await studio.events(id, begin);
  expect(broke).toBe(false);
  expect(events.slice(0, 2).map(({ event, job }) => [event, job.status])).toEqual([
    ['status', 'queued'],
    ['status', 'running'],
  ]);
  expect(events.at(-1)).toEqual({ event: 'status', job: await studio.job(id) });
  expect(events.filter(({ event }) => event === 'progress')).toHaveLength(20);
  const percents = events.map(({ job }) => job.progress.percent);
  expect(percents).toEqual(percents.toSorted((a, b) => a - b));
});

test('a finished job gives its end and nothing else', async () => {
  const studio = await openStudio();
  const { id } = await studio.accepted();
  const job = await studio.jobWith(id, 'succeeded');
  expect((await studio.events(id)).events).toEqual([{ event: 'status', job }]);
});

test('drop cuts the stream after its first event', async () => {
  const { studio, id, begin } = await tickingJob();
  await studio.fault({ point: 'events', fault: 'drop', times: 1 });
  const { events, broke } = await studio.events(id, begin);
  expect({ count: events.length, broke }).toEqual({ count: 1, broke: true });
  await studio.jobWith(id, 'succeeded');
  expect((await studio.events(id)).broke).toBe(false);
});

test('repeat sends each event twice', async () => {
  const { studio, id, begin } = await tickingJob();
  await studio.fault({ point: 'events', fault: 'repeat' });
  const { events } = await studio.events(id, begin);
  expect(events.length).toBeGreaterThan(40);
  expect(events.filter((_, index) => index % 2 === 0)).toEqual(events.filter((_, index) => index % 2 === 1));
});

test('reorder swaps neighbours', async () => {
  const { studio, id, begin } = await tickingJob();
  await studio.fault({ point: 'events', fault: 'reorder' });
  const { events } = await studio.events(id, begin);
  const percents = events.map(({ job }) => job.progress.percent);
  expect(percents).not.toEqual(percents.toSorted((a, b) => a - b));
  expect(events.some(({ job }) => job.status === 'succeeded')).toBe(true);
});

test('delay sends every event late', async () => {
  const studio = await openStudio();
  const { id } = await studio.accepted();
  await studio.jobWith(id, 'succeeded');
  await studio.fault({ point: 'events', fault: 'delay', seconds: 0.2 });
  const startedAtMs = performance.now();
  expect((await studio.events(id)).events).toHaveLength(1);
  expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(195);
});

test('status answers it; silent holds the connection until faults are cleared', async () => {
  const studio = await openStudio();
  const { id } = await studio.accepted();
  await studio.fault({ point: 'events', fault: 'status', status: 503, times: 1 });
  expect((await studio.get(`/api/v1/jobs/${id}/events`)).status).toBe(503);
  await studio.fault({ point: 'events', fault: 'silent', times: 1 });
  const answer = studio.get(`/api/v1/jobs/${id}/events`).then(
    ({ status }) => status,
    () => 'cut',
  );
  await expect
    .poll(async () => (await studio.get('/control/faults')).json(), { timeout: 20_000 })
    .toEqual({ faults: [] });
  await studio.clearFaults();
  expect(await answer).toBe('cut');
});
