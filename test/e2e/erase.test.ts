import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { JobBody } from '../../lambdas/http/job-body.ts';
import { storedName } from '../../lambdas/store/item.ts';
import { Api, expectStatus, problemOf, type Submitted } from './harness/api.ts';
import { eventually } from './harness/eventually.ts';
import { drawPicture } from './harness/pictures.ts';
import { startSlowlane, type Slowlane } from './harness/slowlane.ts';

vi.setConfig({ testTimeout: 120_000 });

let slowlane: Slowlane;
beforeAll(async () => {
  slowlane = await startSlowlane({ reconcileEverySeconds: 3_600 });
  expectStatus(await slowlane.operator.changeLane({ cap: 8 }), 200);
});
afterAll(async () => {
  await slowlane.stop();
});

/** What is stored of a user by name: a colour that it chose, a word that its app added. */
interface Person {
  readonly api: Api;
  readonly owner: string;
  readonly colour: string;
  readonly word: string;
}

interface Past {
  readonly submits: readonly Submitted[];
  readonly done: readonly JobBody[];
}

/** A job with its picture in the request, one with an uploaded picture, and an upload that no job names. */
async function live({ api, colour, word }: Person): Promise<Past> {
  const picture = await drawPicture(7);
  const params = { style: 'duotone', shadow: colour, highlight: '#ffffff' };
  const [sent, uploadId] = await Promise.all([
    api.submit({ feature: 'stylize', picture, params, metadata: { word } }),
    api.upload(picture),
    api.upload(picture),
  ]);
  const uploaded = await api.submitUpload('upscale', uploadId);
  const submits = [sent, uploaded];
  return { submits, done: await Promise.all(submits.map(({ job }) => api.done(job.id))) };
}

/** A job that a person had to settle: it has evidence, and a place in the audit trail. */
async function liveThroughAFlag({ api, word }: Person): Promise<Submitted> {
  const { operator, studio } = slowlane;
  await studio.fault({ point: 'webhook', fault: 'silent', feature: 'stylize' });
  await studio.fault({ point: 'submit', fault: 'drop-after-accept', feature: 'stylize', times: 1 });
  const submitted = await api.submit({ feature: 'stylize', picture: await drawPicture(8), metadata: { word } });
  await api.flagged(submitted.job.id);
  expectStatus(await operator.settle(submitted.job.id, 'fail', { notRunning: true }), 200);
  await api.done(submitted.job.id);
  return submitted;
}

const person = (api: Api, owner: string, colour: string, word: string): Person => ({ api, owner, colour, word });

const itemsOf = async (text: string) =>
  (await slowlane.tracesOf(text)).map((item) => JSON.parse(item) as { pk: { S: string }; sk: { S: string } });

/** Everything that is stored of a person, in the table and in the bucket. */
async function storedOf({ owner, colour, word }: Person): Promise<readonly string[]> {
  const [items, colours, words, files] = await Promise.all([
    slowlane.tracesOf(`"${owner}"`),
    slowlane.tracesOf(colour),
    slowlane.tracesOf(word),
    slowlane.filesOf(`/${owner}/`),
  ]);
  return [...new Set([...items, ...colours, ...words, ...files])].toSorted();
}

/** The last that a worker writes of a job, after its owner can see that it is done. */
async function areAnnounced(pasts: readonly Past[]): Promise<void> {
  const ids = pasts.flatMap(({ submits }) => submits.map(({ job }) => job.id));
  await eventually('nothing is left to announce', async () => {
    const items = await Promise.all(ids.map(itemsOf));
    return items.flat().every((item) => !(storedName('announce') in item)) || undefined;
  });
}

async function picturesOf({ done }: Past): Promise<readonly string[]> {
  return await Promise.all(done.map(async (job) => (await slowlane.api.download(job)).toString('base64')));
}

const erase = async (by: Api, user: string) =>
  await by.send(`/api/v1/users?user=${encodeURIComponent(user)}`, { method: 'DELETE' });

describe('the erasure of one user among many', () => {
  it('takes pictures, parameters and evidence, leaves tombstones and the audit trail, and touches nobody else', async () => {
    const { operator, studio } = slowlane;
    const elsewhere = await slowlane.createKey('sl_local_elsewhere', 'elsewhere', ['jobs', 'act-for-user']);
    const ann = person(operator.as('ann'), 'local/ann', '#a11a11', 'marzipan');
    // By name next to her, and by the same name next door.
    const others = [
      person(operator.as('anna'), 'local/anna', '#b22b22', 'juniper'),
      person(elsewhere.as('ann'), 'elsewhere/ann', '#c33c33', 'saffron'),
    ];
    const flagged = await liveThroughAFlag(ann);
    const [past, ...pasts] = await Promise.all([ann, ...others].map(live));
    if (past === undefined) throw new Error('She has no past.');
    const ids = [...past.submits, flagged].map(({ job }) => job.id);
    const links = past.done.map(({ result }) => result?.url ?? '');
    await areAnnounced(pasts);
    const before = await Promise.all(others.map(storedOf));
    const picturesBefore = await Promise.all(pasts.map(picturesOf));
    for (const folder of ['inputs', 'results', 'uploads']) {
      expect(await slowlane.filesOf(`${folder}/local/ann/`)).not.toEqual([]);
    }
    for (const text of [ann.colour, ann.word]) expect(await slowlane.tracesOf(text)).not.toEqual([]);
    const evidence = (await itemsOf(flagged.job.id)).filter(({ sk }) => sk.S.startsWith('evidence#'));
    expect(evidence).not.toEqual([]);

    expect(expectStatus(await erase(operator, 'ann'), 200)).toEqual({ erased: 3, pending: [], more: false });

    expect(await slowlane.filesOf('/local/ann/')).toEqual([]);
    for (const text of [ann.colour, ann.word]) expect(await slowlane.tracesOf(text)).toEqual([]);
    for (const id of ids) {
      const left = (await itemsOf(id)).filter(({ pk }) => pk.S === id);
      const tombstones = left.filter(({ sk }) => sk.S === 'job');
      expect(tombstones.map((one) => Object.keys(one).toSorted())).toEqual([['erasedAt', 'owner', 'pk', 'sk']]);
      const kept = left.filter(({ sk }) => sk.S !== 'job').map(({ sk }) => sk.S.replace(/#.*/, ''));
      expect(new Set(kept)).toEqual(new Set(id === flagged.job.id ? ['audit'] : []));
    }
    // S3 tells a missing object from a forbidden one only to those who may list it.
    for (const link of links) expect((await fetch(link)).status).toBe(403);
    expect(await ann.api.list()).toEqual({ jobs: [], nextCursor: null });

    expect(await Promise.all(others.map(storedOf))).toEqual(before);
    expect(await Promise.all(pasts.map(picturesOf))).toEqual(picturesBefore);

    const { posts } = await studio.ledger();
    for (const { job, key } of [...past.submits, flagged]) {
      const answers = await Promise.all([
        ann.api.send(`/api/v1/jobs/${job.id}`),
        ann.api.send(`/api/v1/jobs/${job.id}/result`),
        ann.api.send('/api/v1/jobs/by-key', { headers: { 'Idempotency-Key': key } }),
        ann.api.trySubmit({ feature: 'stylize', picture: await drawPicture(7), key }),
      ]);
      for (const answer of answers) expect(problemOf(answer)).toMatchObject({ status: 410, code: 'job_gone' });
    }
    expect((await studio.ledger()).posts).toBe(posts);
    // Again: nothing is left to erase.
    expect(expectStatus(await erase(operator, 'ann'), 200)).toMatchObject({ erased: 0, pending: [] });
  });

  it('waits for what still runs at a vendor, which it asks to stop', async () => {
    const { operator, studio } = slowlane;
    const ben = operator.as('ben');
    const endless = { point: 'run', fault: 'ticks', perSecond: 4, seconds: 3_600, feature: 'upscale' } as const;
    await studio.fault({ ...endless, times: 1 });
    const { job } = await ben.submit({ feature: 'upscale', picture: await drawPicture(9) });
    await ben.until(job.id, 'runs', ({ status }) => status === 'running');
    expect(expectStatus(await erase(operator, 'ben'), 202)).toMatchObject({ erased: 0, pending: [job.id] });
    expect(await slowlane.filesOf('/local/ben/')).not.toEqual([]);
    expect(await ben.done(job.id)).toMatchObject({ status: 'canceled' });
    expect(expectStatus(await erase(operator, 'ben'), 200)).toMatchObject({ erased: 1, pending: [] });
    expect(await slowlane.filesOf('/local/ben/')).toEqual([]);
  });

  it('is the user’s own right, and no other user’s', async () => {
    const { operator, url } = slowlane;
    const bearer = async (user: string) => new Api(url, { Authorization: `Bearer ${await operator.mintToken(user)}` });
    const [carl, dora] = await Promise.all([bearer('carl'), bearer('dora')]);
    const { job } = await carl.submit({ feature: 'stylize', picture: await drawPicture(10) });
    await carl.done(job.id);
    for (const stranger of [dora, operator.as('dora')]) {
      expect(problemOf(await erase(stranger, 'carl'))).toMatchObject({ status: 403, code: 'forbidden' });
    }
    expect((await carl.job(job.id)).status).toBe('succeeded');
    expect(expectStatus(await erase(carl, 'carl'), 200)).toMatchObject({ erased: 1 });
    expect(problemOf(await carl.send(`/api/v1/jobs/${job.id}`))).toMatchObject({ status: 410, code: 'job_gone' });
  });
});
