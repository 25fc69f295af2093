import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { expectStatus } from './harness/api.ts';
import { EventLine } from './harness/event-line.ts';
import { eventually } from './harness/eventually.ts';
import { drawPicture } from './harness/pictures.ts';
import type { PublishedEvent } from './harness/runtime.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 120_000 });

let line: EventLine;
let slowlane: Slowlane;
let picture: Buffer<ArrayBuffer>;
beforeAll(async () => {
  picture = await drawPicture();
  line = await EventLine.start();
  slowlane = await startSlowlane({
    impatient: true,
    reconcileEverySeconds: 1,
    variables: { AWS_ENDPOINT_URL_EVENTBRIDGE: line.url },
  });
  line.leadTo(slowlane.eventBusUrl);
});
afterAll(async () => {
  await line.stop();
  await slowlane.stop();
});
beforeEach(async () => {
  expectStatus(await slowlane.operator.changeLane({ cap: 8, state: 'open' }), 200);
});
afterEach(async () => {
  line.letGo();
  await slowlane.studio.clearFaults();
});

const submit = async (feature: 'upscale' | 'stylize') => (await slowlane.api.submit({ feature, picture })).job.id;

/** Crashes a function after it wrote what became of a job, and before it knows that the bus has heard of it. */
async function dieBetween(jobId: string, name: string): Promise<void> {
  await line.isTold(jobId);
  // A tick that was held for long may have given up, and the next one tells the same.
  await eventually(`${name} is killed`, async () => (await slowlane.runtime.kill(name)) > 0 || undefined, {
    everyMs: 10,
  });
}

async function succeed(worker: string): Promise<string> {
  const id = await submit('upscale');
  await dieBetween(id, worker);
  return id;
}

async function failAtVendor(worker: string): Promise<string> {
  await slowlane.studio.fault({ point: 'run', fault: 'fail', error: 'No face found.', feature: 'upscale', times: 1 });
  const id = await submit('upscale');
  await dieBetween(id, worker);
  return id;
}

async function cancelAtVendor(worker: string): Promise<string> {
  const { api, studio } = slowlane;
  const endless = { point: 'run', fault: 'ticks', perSecond: 4, seconds: 3_600, feature: 'upscale', times: 1 } as const;
  await studio.fault(endless);
  const id = await submit('upscale');
  await api.until(id, 'runs', ({ status }) => status === 'running');
  await api.cancel(id);
  await dieBetween(id, worker);
  return id;
}

async function cancelInQueue(): Promise<string> {
  const { api, operator } = slowlane;
  expectStatus(await operator.changeLane({ state: 'paused' }), 200);
  const id = await submit('upscale');
  const asked = api.send(`/api/v1/jobs/${id}/cancel`, { method: 'POST' });
  await dieBetween(id, 'cancel-job');
  // Its owner hears of a crash, and nothing else is lost.
  expect((await asked).status).toBeGreaterThanOrEqual(500);
  expectStatus(await operator.changeLane({ state: 'open' }), 200);
  return id;
}

async function flag(): Promise<string> {
  const { api, studio } = slowlane;
  await studio.fault({ point: 'webhook', fault: 'silent', feature: 'stylize' });
  await studio.fault({ point: 'submit', fault: 'drop-after-accept', feature: 'stylize', times: 1 });
  const id = await submit('stylize');
  await api.flagged(id);
  return id;
}

const about = async (id: string): Promise<PublishedEvent[]> =>
  (await slowlane.runtime.events()).filter(({ detail }) => detail.jobId === id);

/** At least so often, and whoever gets one twice can tell. */
async function isAnnounced(id: string, type: string, atLeast: number): Promise<void> {
  const events = await eventually(`${type} of ${id}`, async () => {
    const told = await about(id);
    return told.length >= atLeast ? told : undefined;
  });
  const { status, version } = await slowlane.api.job(id);
  for (const event of events) {
    expect(event).toMatchObject({
      source: 'slowlane',
      'detail-type': type,
      detail: { id: `${id}.${version}`, job: { id, status, version } },
    });
  }
}

describe('what became of a job', () => {
  it('reaches the bus although whoever wrote it died before telling', async () => {
    const worker = await slowlane.runtime.workerName();
    line.hold('requests');
    // It is told by a tick some seconds later: the others end meanwhile.
    const flagged = await flag();
    const canceledEarly = await cancelInQueue();
    const failed = await failAtVendor(worker);
    const canceled = await cancelAtVendor(worker);
    const succeeded = await succeed(worker);
    await dieBetween(flagged, 'reconcile-jobs');
    const ends = [
      [flagged, 'Job Needs Attention'],
      [canceledEarly, 'Job Canceled'],
      [failed, 'Job Failed'],
      [canceled, 'Job Canceled'],
      [succeeded, 'Job Succeeded'],
    ] as const;
    for (const [id] of ends) expect(await about(id)).toEqual([]);
    line.letGo();
    await Promise.all(ends.map(([id, type]) => isAnnounced(id, type, 1)));
  });

  it('is told again under the same id where nobody knows whether the bus took it', async () => {
    const worker = await slowlane.runtime.workerName();
    line.hold('answers');
    const flagged = await flag();
    const failed = await failAtVendor(worker);
    const succeeded = await succeed(worker);
    await dieBetween(flagged, 'reconcile-jobs');
    line.letGo();
    await Promise.all([
      isAnnounced(flagged, 'Job Needs Attention', 2),
      isAnnounced(failed, 'Job Failed', 2),
      isAnnounced(succeeded, 'Job Succeeded', 2),
    ]);
  });
});
