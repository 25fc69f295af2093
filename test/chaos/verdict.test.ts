import { describe, expect, it } from 'vitest';
import type { JobBody } from '../../lambdas/http/job-body.ts';
import type { VendorJob } from '../e2e/harness/studio.ts';
import { violations, type Books } from './verdict.ts';

const job = (id: string, status: JobBody['status'], more: Partial<JobBody> = {}) =>
  ({ id, status, feature: 'stylize', error: null, ...more }) as JobBody;
const sold = (key: string, status: VendorJob['status']): VendorJob => ({
  vendorJobId: `stu_${key}`,
  key,
  feature: 'stylize',
  acceptedAt: '2026-04-01T00:00:00.000Z',
  status,
  finishedAt: null,
});
const told = (jobId: string, type: string) => ({
  'detail-type': type,
  source: 'slowlane',
  detail: { id: `${jobId}.5`, jobId },
});

/** Two jobs that went well under a cap of one. */
function goodBooks(more: Partial<Books> = {}): Books {
  return {
    actions: [
      { key: 'tap-0', user: 'user-0', feature: 'stylize', id: 'job_a' },
      { key: 'tap-1', user: 'user-1', feature: 'stylize', id: 'job_b' },
    ],
    jobs: [job('job_a', 'succeeded'), job('job_b', 'canceled')],
    ledger: { accepted: [sold('job_a.1', 'succeeded')], inFlight: 0, maxInFlight: 1, posts: 1 },
    events: [told('job_a', 'Job Succeeded'), told('job_b', 'Job Canceled')],
    cap: 1,
    held: 0,
    ...more,
  };
}

describe('the verdict over a chaos', () => {
  it('finds nothing where all is well', () => {
    expect(violations(goodBooks())).toEqual([]);
  });

  const ledger = goodBooks().ledger;
  it.each<[string, Partial<Books>, RegExp]>([
    ['a lost job', { jobs: [job('job_a', 'succeeded')] }, /lost: job_b/],
    [
      'a purchase made twice',
      { ledger: { ...ledger, accepted: [...ledger.accepted, sold('job_a.1', 'succeeded')] } },
      /paid 2 times: job_a\.1/,
    ],
    ['a broken cap', { ledger: { ...ledger, maxInFlight: 2 } }, /over the cap/],
    ['a cap that was never reached', { cap: 2 }, /never used/],
    ['a job that runs on at the vendor', { ledger: { ...ledger, inFlight: 1 } }, /still runs/],
    ['a unit that nobody frees', { held: 1 }, /held by nobody/],
    [
      'a success that the vendor knows nothing of',
      { ledger: { ...ledger, accepted: [] } },
      /is succeeded, at the vendor/,
    ],
    ['a cancel that was paid for', { jobs: [job('job_a', 'canceled'), job('job_b', 'canceled')] }, /job_a is canceled/],
    ['a job without an end', { jobs: [job('job_a', 'succeeded'), job('job_b', 'running')] }, /not at its end/],
    ['an end that was told to nobody', { events: [told('job_a', 'Job Succeeded')] }, /job_b never reached the bus/],
    [
      'a purchase of nobody’s',
      { ledger: { ...ledger, accepted: [...ledger.accepted, sold('job_x.1', 'failed')] } },
      /sold to nobody: job_x\.1/,
    ],
  ])('finds %s', (_what, more, found) => {
    expect(violations(goodBooks(more)).join('\n')).toMatch(found);
  });
});
