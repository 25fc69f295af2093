import { describe, expect, it } from 'vitest';
import { ownerOf, states, type Job, type JobFields, type State } from '../../../lambdas/domain/job.ts';
import { plain } from '../../../lambdas/store/conditional-write.ts';
import { itemOf, jobOf, readOf, tombstoneItem } from '../../../lambdas/store/item.ts';
import { itemSize } from '../../fixtures/item-size.ts';
import { noon, storedJob } from '../../fixtures/stored-job.ts';

const instant = noon + 123_456_789;
const slug = (letter: string) => letter.repeat(32);
const token = (letter: string) => letter.repeat(16);

/** As long as each field may get, all at once. */
const longest: Partial<JobFields> = {
  id: `job_${'a'.repeat(52)}`,
  owner: ownerOf('t'.repeat(64), '@'.repeat(128)),
  feature: slug('f'),
  vendor: slug('v'),
  lane: slug('l'),
  fingerprint: `v1:${'ab'.repeat(32)}`,
  submitToken: token('s'),
  createdAt: instant,
  picture: {
    contentType: 'image/jpeg',
    bytes: 99_999_999,
    width: 12_345,
    height: 12_345,
    uploadId: `upl_${token('u')}`,
    sha256: 'cd'.repeat(32),
  },
  version: 9_999,
  attempt: 999,
  generation: 99,
  rank: 999_999_999,
  queuedAt: instant,
  laneClosedMs: 99_999_999,
  checkAt: instant,
  claimToken: token('c'),
  sendBy: instant,
  dispatchBy: instant,
  sends: 99,
  tries: 99,
  firstTriedAt: instant,
  startedAt: instant,
  cancelRequestedAt: instant,
  followers: Array.from({ length: 8 }, (_, index) => `L0SM9cOFvHcCIh${index}=`),
};

const running: Partial<JobFields> = {
  ...longest,
  hold: { token: token('h') },
  vendorJobId: '0190a5c2-6d3e-7c2b-9f5e-3b1f6f8f2c11',
  runUntil: instant,
  watchUntil: instant,
  progress: { percent: 99, stage: 's'.repeat(24), at: instant },
  announce: 9_998,
};

/** What an end clears, `advance` says; the rest stays. */
const ended: Partial<JobFields> = {
  ...running,
  hold: undefined,
  claimToken: undefined,
  dispatchBy: undefined,
  firstTriedAt: undefined,
  runUntil: undefined,
  watchUntil: undefined,
  followers: [],
  finishedAt: instant,
  ttl: instant,
};

const largest: { readonly [S in State]: Job<S> } = {
  queued: storedJob('queued', longest),
  dispatching: storedJob('dispatching', { ...longest, maybeSent: true, hold: { token: token('h') } }),
  running: storedJob('running', running),
  needs_attention: storedJob('needs_attention', {
    ...running,
    claimToken: undefined,
    dispatchBy: undefined,
    watchUntil: undefined,
    maybeSent: true,
    flag: { code: 'vendor_job_conflict', since: instant },
  }),
  succeeded: storedJob('succeeded', {
    ...ended,
    results: [0, 1, 2, 3].map((index) => ({
      key: `results/${longest.owner}/${longest.id}/99-${index}`,
      contentType: 'image/jpeg',
      bytes: 99_999_999,
      width: 12_345,
      height: 12_345,
    })),
  }),
  failed: storedJob('failed', {
    ...ended,
    progress: undefined,
    hold: { token: token('h') },
    failure: { code: 'failed_by_operator', message: 'm'.repeat(160) },
  }),
  canceled: storedJob('canceled', ended),
};

describe('a job as an item', () => {
  it.each(states)('comes back as it was, %s', (state) => {
    for (const job of [storedJob(state), largest[state]]) expect(jobOf(plain(itemOf(job)))).toEqual(job);
  });

  it.each(states)('is billed as 1 KB, the largest legal one too, %s', (state) => {
    expect(itemSize(itemOf(largest[state]))).toBeLessThan(1024);
  });

  it('keeps a result whose key does not follow from the job, and a fingerprint of another scheme', () => {
    const results = [{ key: 'results/old', contentType: 'image/png', bytes: 1, width: 2, height: 3 }];
    const job = storedJob('succeeded', { results, fingerprint: 'v2:other', picture: undefined });
    expect(jobOf(plain(itemOf(job)))).toEqual(job);
  });

  it('is not read where it is not what we write', () => {
    const item = plain(itemOf(storedJob('running')));
    expect(() => jobOf({ ...item, ho: 7 })).toThrow("The stored hold of job job_a can't be read.");
    expect(() => jobOf({ ...item, state: 'lost' })).toThrow();
    expect(() => jobOf({ ...item, fe: undefined })).toThrow("The stored feature of job job_a can't be read.");
  });

  it('says of an erased job whose it was, and is in no index', () => {
    const tombstone = { id: 'job_a', owner: 'acme%20inc/ann%2F%25', erasedAt: noon };
    const item = tombstoneItem(tombstone);
    expect(readOf(plain(item))).toEqual({ kind: 'erased', tombstone });
    expect(Object.keys(item).toSorted()).toEqual(['erasedAt', 'owner', 'pk', 'sk']);
  });
});
