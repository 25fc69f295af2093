import { beforeAll, describe, expect, it } from 'vitest';
import sharp from 'sharp';
import { dispatchJob } from '../../lambdas/domain/dispatch-job.ts';
import { inputKeyOf, type Job } from '../../lambdas/domain/job.ts';
import { uploadKeyOf } from '../../lambdas/domain/upload.ts';
import { succeeded } from '../fakes/told-vendor.ts';
import { formBody } from '../fixtures/http-gateway.ts';
import { OperatorGateway } from '../fixtures/operator-gateway.ts';
import { noon } from '../fixtures/stored-job.ts';
import { OWNER, samples, SERIAL, XMP_PLACE, type Sample } from '../unit/picture/pictures.ts';
import { eventOf } from './request.ts';
import { Target } from './target.ts';

/** What a phone writes into a photograph about its owner stays with the owner: what is kept and sent is looked at here. */

const marks = [OWNER, SERIAL, XMP_PLACE, 'Slow Camera', '2026:01:02 03:04:05'];
const headers = [
  ['X-API-Key', 'sl_test_server-of-acme'],
  ['Slowlane-User', 'carl'],
  ['Idempotency-Key', 'photo-1'],
] as const;

let photos: readonly Sample[];
beforeAll(async () => {
  photos = (await samples()).filter(({ name }) => !/animated|bare/.test(name));
});

async function submitForm(target: Target, bytes: Uint8Array): Promise<Job> {
  const { body, headers: framing } = formBody({ feature: 'upscale', image: bytes });
  const sent = { routeKey: 'POST /api/v1/jobs', headers: [...headers, ...Object.entries(framing)], body };
  return await jobOf(target, eventOf(sent, false));
}

async function submitUpload(target: Target, bytes: Uint8Array, contentType: string): Promise<Job> {
  const upload = { id: 'upl_photo', owner: 'acme/carl', contentType, bytes: bytes.length, sha256: undefined };
  await target.uploads.put({ ...upload, createdAt: noon, expiresAt: noon + 86_400_000 });
  await target.files.put(uploadKeyOf(upload), bytes, contentType);
  const body = JSON.stringify({ feature: 'upscale', inputs: { image: { uploadId: upload.id } } });
  const sent = {
    routeKey: 'POST /api/v1/jobs',
    headers: [...headers, ['Content-Type', 'application/json'] as const],
    body,
  };
  return await jobOf(target, eventOf(sent, true));
}

async function jobOf(target: Target, event: ReturnType<typeof eventOf>): Promise<Job> {
  const answer = await target.send(event);
  expect(answer.status).toBe(202);
  return target.jobs.get(String((JSON.parse(answer.text ?? '') as { id: unknown }).id));
}

async function expectNothingPersonal(kept: Uint8Array): Promise<void> {
  const bytes = Buffer.from(kept);
  for (const mark of marks) {
    expect([mark, bytes.includes(mark), bytes.includes(Buffer.from(mark, 'utf16le'))]).toEqual([mark, false, false]);
  }
  const { exif, xmp, iptc } = await sharp(kept).metadata();
  expect([xmp, iptc]).toEqual([undefined, undefined]);
  // All that may be left says which way is up: one entry, and no list of GPS or camera entries behind it.
  if (exif !== undefined) expect(exif.length).toBeLessThan(60);
}

describe('a photograph that says who took it, where, when and with what', () => {
  it('is kept without all that, in whichever format it was sent in the request', async () => {
    expect(photos.length).toBeGreaterThan(8);
    for (const { bytes } of photos) {
      // The original does say it: otherwise this would prove nothing.
      expect(marks.some((mark) => Buffer.from(bytes).includes(mark))).toBe(true);
      const target = await Target.open(bytes);
      const job = await submitForm(target, bytes);
      const stored = await target.files.get(inputKeyOf(job));
      await expectNothingPersonal(stored?.bytes ?? expect.fail('Nothing was stored.'));
      expect(stored?.bytes.length).toBe(job.picture?.bytes);
    }
  });

  it('is kept without all that where it was uploaded first', async () => {
    for (const { bytes, format } of photos) {
      const target = await Target.open(bytes);
      const job = await submitUpload(target, bytes, `image/${format}`);
      const stored = await target.files.get(inputKeyOf(job));
      await expectNothingPersonal(stored?.bytes ?? expect.fail('Nothing was stored.'));
    }
  });

  it('is sent to the vendor as it is kept', async () => {
    const [{ bytes } = expect.fail('There is no photograph.')] = photos;
    const target = await Target.open(bytes);
    const job = await submitForm(target, bytes);
    const worker = new OperatorGateway();
    worker.jobs.put(job);
    await worker.jobs.putRequest(job.id, job.submitToken, { parameters: {}, metadata: undefined, consent: undefined });
    const stored = (await target.files.get(inputKeyOf(job))) ?? expect.fail('Nothing was stored.');
    await worker.files.put(inputKeyOf(job), stored.bytes, stored.contentType);
    worker.studio.words.set('vendor-job-1', succeeded);
    const shift = { endsAt: worker.clock.now() + 300_000, signal: AbortSignal.timeout(20_000) };
    await dispatchJob(worker.world, { lane: job.lane, hint: job.id }, shift);
    const [sent] = worker.studio.submissions;
    await expectNothingPersonal(sent?.picture?.bytes ?? expect.fail('Nothing was sent.'));
    expect(JSON.stringify({ ...sent, picture: sent?.picture?.contentType })).not.toContain('carl');
  });

  it('is nowhere else in what a submit stores', async () => {
    for (const { bytes } of photos) {
      const target = await Target.open(Buffer.from('no photograph'));
      const before = new Set(target.files.keys);
      const job = await submitForm(target, bytes);
      expect(target.files.keys.filter((key) => !before.has(key))).toEqual([inputKeyOf(job)]);
      const said = JSON.stringify([job, await target.jobs.readRequest(job.id, job.submitToken), target.logged]);
      expect(marks.filter((mark) => said.includes(mark))).toEqual([]);
    }
  });

  it('looks the same without it', async () => {
    for (const { bytes } of photos) {
      const target = await Target.open(bytes);
      const job = await submitForm(target, bytes);
      const stored = await target.files.get(inputKeyOf(job));
      const pixelsOf = (picture: Uint8Array) => sharp(picture).autoOrient().raw().toBuffer();
      expect(await pixelsOf(stored?.bytes ?? expect.fail('Nothing was stored.'))).toEqual(await pixelsOf(bytes));
    }
  });
});
