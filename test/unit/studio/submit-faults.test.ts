import { describe, expect, test } from 'vitest';

import { openStudio } from './studio-client.ts';

describe('a submit fault', () => {
  test('drop-before-accept reads the body, cuts the connection and accepts nothing', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'submit', fault: 'drop-before-accept', times: 1 });
    await expect(studio.submit({ key: 'k' })).rejects.toThrow('fetch failed');
    expect(await studio.ledger()).toMatchObject({ accepted: [], posts: 1 });
    expect((await studio.submit({ key: 'k' })).status).toBe(202);
  });

  test('drop-after-accept accepts before it cuts the connection', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'submit', fault: 'drop-after-accept', times: 1 });
    await expect(studio.submit({ key: 'k' })).rejects.toThrow('fetch failed');
    expect(await studio.ledger()).toMatchObject({ accepted: [{ key: 'k' }], posts: 1 });
    expect((await studio.submit({ key: 'k' })).status).toBe(200);
  });

  test('garbage-2xx answers 200 with a page, having accepted', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'submit', fault: 'garbage-2xx' });
    const answer = await studio.submit({ key: 'k' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/html');
    expect((await studio.ledger()).accepted).toHaveLength(1);
  });

  test('no-id-2xx answers JSON without an id, having accepted', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'submit', fault: 'no-id-2xx' });
    expect(await (await studio.submit({ key: 'k' })).json()).toEqual({ status: 'queued' });
    expect((await studio.ledger()).accepted).toHaveLength(1);
  });

  test('status answers it without accepting, with Retry-After in seconds or as a date', async () => {
    const studio = await openStudio();
    const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
    await studio.fault({ point: 'submit', fault: 'status', status: 429, retryAfter: 2, error: 'slow down', times: 1 });
    await studio.fault({ point: 'submit', fault: 'status', status: 503, retryAfter: date, times: 1 });
    const [first, second] = [await studio.submit(), await studio.submit()];
    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '2']);
    expect(await first.json()).toEqual({ error: 'slow down' });
    expect([second.status, second.headers.get('retry-after')]).toEqual([503, date]);
    expect(await studio.ledger()).toMatchObject({ accepted: [], posts: 2 });
    expect((await studio.submit()).status).toBe(202);
  });

  test('status may lie: accept makes it a job all the same', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'submit', fault: 'status', status: 502, accept: true, times: 1 });
    expect((await studio.submit({ key: 'k' })).status).toBe(502);
    expect((await studio.ledger()).accepted).toHaveLength(1);
  });

  test.each([
    ['silent', 0],
    ['silent-after-accept', 1],
  ])('%s never answers, until faults are cleared, and accepts %i', async (fault, jobs) => {
    const studio = await openStudio();
    await studio.fault({ point: 'submit', fault, times: 1 });
    const answer = studio.submit({ key: 'k' }).then(
      ({ status }) => status,
      () => 'cut',
    );
    await expect.poll(async () => (await studio.ledger()).posts, { timeout: 20_000 }).toBe(1);
    await expect
      .poll(async () => (await studio.get('/control/faults')).json(), { timeout: 20_000 })
      .toEqual({ faults: [] });
    await expect.poll(async () => (await studio.ledger()).accepted.length, { timeout: 20_000 }).toBe(jobs);
    await studio.clearFaults();
    expect(await answer).toBe('cut');
  });

  test('delay answers truly, but late', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'submit', fault: 'delay', seconds: 0.2 });
    const startedAtMs = performance.now();
    expect((await studio.submit()).status).toBe(202);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(195);
  });

  test('keeps to its feature', async () => {
    const studio = await openStudio();
    await studio.fault({ point: 'submit', fault: 'status', status: 500, feature: 'upscale' });
    expect((await studio.submit({ feature: 'stylize' })).status).toBe(202);
    expect((await studio.submit({ feature: 'upscale' })).status).toBe(500);
    await studio.clearFaults();
    expect((await studio.submit({ feature: 'upscale' })).status).toBe(202);
  });
});

describe('a fault that makes no sense is refused with what is wrong', () => {
  test.each([
    [{ point: 'submit', fault: 'explode' }, 'fault'],
    [{ point: 'moon', fault: 'silent' }, 'point'],
    [{ point: 'submit', fault: 'status' }, 'status'],
    [{ point: 'submit', fault: 'status', status: 20 }, 'status'],
    [{ point: 'status', fault: 'repeat' }, 'fault'],
    [{ point: 'run', fault: 'slow' }, 'seconds'],
    [{ point: 'submit', fault: 'silent', time: 1 }, 'time'],
    [{ point: 'submit', fault: 'silent', times: 0 }, 'times'],
  ])('%j', async (fault, wrong) => {
    const studio = await openStudio();
    const answer = await studio.fault(fault);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(wrong);
    expect(await (await studio.get('/control/faults')).json()).toEqual({ faults: [] });
  });

  test('no JSON', async () => {
    const studio = await openStudio();
    const answer = await fetch(`${studio.url}/control/faults`, { method: 'POST', body: '{' });
    expect(answer.status).toBe(400);
  });
});
