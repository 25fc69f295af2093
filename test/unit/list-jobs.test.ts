import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { jobIdOf } from '../../lambdas/domain/idempotency.ts';
import { asAnn, formCall } from '../fixtures/http-calls.ts';
import { HttpGateway, type Received } from '../fixtures/http-gateway.ts';
import { jobInState } from '../fixtures/job-in-state.ts';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';

let photo: Uint8Array;
let gateway: HttpGateway;
const keys = ['a', 'b', 'c', 'd', 'e'];
const annsJob = (key: string): string => jobIdOf('acme/ann', key);

beforeAll(async () => {
  photo = await photoWithPlace();
});

async function submit(key: string, headers: Record<string, string> = {}): Promise<void> {
  const parts = { image: photo, metadata: JSON.stringify({ key }) };
  const { status } = await gateway.call('POST /api/v1/jobs', formCall(parts, { 'idempotency-key': key, ...headers }));
  expect(status).toBe(202);
  await gateway.clock.advance(1_000);
}

beforeEach(async () => {
  gateway = new HttpGateway();
  await gateway.grantKey('ann-server');
  for (const key of keys) await submit(key);
  await submit('bobs', { 'slowlane-user': 'bob' });
});

const list = (query: Record<string, string> = {}, headers: Record<string, string> = asAnn): Promise<Received> =>
  gateway.call('GET /api/v1/jobs', { headers, query });

const idsOf = ({ body }: Received): string[] => (body['jobs'] as { id: string }[]).map(({ id }) => id);

describe('the list of jobs', () => {
  it("is the owner's own, newest first, each as it is shown alone", async () => {
    const listed = await list();
    expect(idsOf(listed)).toEqual(keys.toReversed().map(annsJob));
    expect(listed.body['nextCursor']).toBeNull();
    const path = { id: annsJob('e') };
    const { body } = await gateway.call('GET /api/v1/jobs/{id}', { headers: asAnn, path });
    expect((listed.body['jobs'] as unknown[])[0]).toEqual(body);
  });

  it('is given in pages that miss nothing and repeat nothing', async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Received = await list({ limit: '2', ...(cursor === null ? {} : { cursor }) });
      expect(page.status).toBe(200);
      seen.push(...idsOf(page));
      cursor = page.body['nextCursor'] as string | null;
    } while (cursor !== null);
    expect(seen).toEqual(keys.toReversed().map(annsJob));
  });

  it('is filtered by one status, or several, across the pages of the index', async () => {
    gateway.jobs.put(jobInState(gateway.jobs.get(annsJob('a')), 'failed'));
    gateway.jobs.put(jobInState(gateway.jobs.get(annsJob('c')), 'succeeded'));
    expect(idsOf(await list({ status: 'failed', limit: '1' }))).toEqual([annsJob('a')]);
    expect(idsOf(await list({ status: 'failed,succeeded' }))).toEqual([annsJob('c'), annsJob('a')]);
  });

  it('shows what the jobs are by now, though the index lags', async () => {
    gateway.index.lagWrites = Number.POSITIVE_INFINITY;
    await list();
    gateway.index.lagWrites = 1;
    gateway.jobs.put(jobInState(gateway.jobs.get(annsJob('e')), 'succeeded'));
    expect(idsOf(await list({ status: 'queued' }))).not.toContain(annsJob('e'));
  });

  it('takes no cursor that it did not sign for this owner and this filter', async () => {
    const { body } = await list({ limit: '2' });
    const cursor = String(body['nextCursor']);
    const [text = '', signature = ''] = cursor.split('.');
    const forged = `${Buffer.from('{"pk":{"S":"other"}}').toString('base64url')}.${signature}`;
    for (const other of [forged, text, `${cursor}x`, `${cursor}.x`, 'x']) {
      expect((await list({ cursor: other })).body['code']).toBe('cursor_invalid');
    }
    expect((await list({ cursor, status: 'queued' })).body['code']).toBe('cursor_invalid');
    const asBob = { ...asAnn, 'slowlane-user': 'bob' };
    expect((await list({ cursor }, asBob)).body['code']).toBe('cursor_invalid');
    expect((await list({ cursor })).status).toBe(200);
  });

  it.each([{ limit: '0' }, { limit: '51' }, { limit: 'all' }, { status: 'sleeping' }, { sort: 'asc' }])(
    'refuses %j',
    async (query) => {
      expect(await list(query as Record<string, string>)).toMatchObject({
        status: 400,
        body: { code: 'request_invalid' },
      });
    },
  );
});
