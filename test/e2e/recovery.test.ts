import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { localDemoKey } from '../../local/seed-keys.ts';
import { Api } from './harness/api.ts';
import { eventually } from './harness/eventually.ts';
import { freePort, GatewayProcess } from './harness/gateway-process.ts';
import { drawPicture } from './harness/pictures.ts';
import { Studio } from './harness/studio.ts';

vi.setConfig({ testTimeout: 180_000 });

let dataDir: string;
let gateway: GatewayProcess;
let start: () => Promise<GatewayProcess>;
beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'slowlane-e2e-'));
  const options = { dataDir, port: await freePort(), studioPort: await freePort(), reconcileSeconds: 1 };
  start = () => GatewayProcess.start(options);
  gateway = await start();
});
afterAll(async () => {
  await gateway.stop();
  await rm(dataDir, { recursive: true, force: true });
});

describe('kill -9 of the whole gateway', () => {
  it('loses none of ten queued and two running jobs, and buys none twice', async () => {
    const api = new Api(gateway.url, { 'X-API-Key': localDemoKey });
    const studio = new Studio(gateway.studioUrl, dataDir);
    const picture = await drawPicture();
    await studio.fault({ point: 'run', fault: 'ticks', perSecond: 4, seconds: 3_600, times: 2 });
    const submitted = await Promise.all(
      Array.from({ length: 12 }, (_, index) => api.submit({ feature: 'stylize', picture, key: `action-${index}` })),
    );
    const jobs = async () => await Promise.all(submitted.map(({ job }) => api.job(job.id)));
    await eventually('two run', async () => {
      const running = (await jobs()).filter(({ status, progress }) => status === 'running' && progress !== null);
      return running.length === 2 || undefined;
    });
    await studio.struck('run');
    await gateway.crash();
    await expect(api.job(submitted[0]?.job.id ?? '')).rejects.toThrow();
    // The vendor knows nothing of it, and goes on.
    expect((await studio.ledger()).accepted).toHaveLength(2);
    gateway = await start();

    const statuses = (await jobs()).map(({ status }) => status).toSorted();
    expect(statuses.filter((status) => status === 'queued')).toHaveLength(10);
    await studio.hurry();
    const done = await Promise.all(submitted.map(({ job }) => api.done(job.id, 150_000)));
    expect(done.map(({ status }) => status)).toEqual(done.map(() => 'succeeded'));
    const ledger = await studio.ledger();
    expect(ledger.accepted).toHaveLength(12);
    expect(new Set(ledger.accepted.map(({ key }) => key))).toEqual(new Set(submitted.map(({ job }) => `${job.id}.1`)));
    expect([ledger.posts, ledger.maxInFlight]).toEqual([12, 2]);
    // An app that never heard of the crash sends its request again.
    const again = await api.submit({ feature: 'stylize', picture, key: 'action-3' });
    expect([again.status, again.job.id]).toEqual([200, submitted[3]?.job.id]);
    expect((await api.download(await api.job(again.job.id))).byteLength).toBeGreaterThan(0);
  });
});
