import { describe, expect, it } from 'vitest';
import type { JobBody } from '../../lambdas/http/job-body.ts';
import type { VendorJob } from '../e2e/harness/studio.ts';
import { faultKinds } from './struck-faults.ts';
import { untried, violations, type Books } from './verdict.ts';

/** The faults end at noon; an interval is a minute, with ten seconds for a tick. */
const noon = Date.parse('2026-04-01T12:00:00Z');
const at = (seconds: number) => new Date(noon + seconds * 1_000).toISOString();

const job = (id: string, status: JobBody['status'], more: Partial<JobBody> = {}) =>
  ({ id, status, feature: 'stylize', error: null, startedAt: at(-30), finishedAt: at(-20), ...more }) as JobBody;
const sold = (key: string, status: VendorJob['status'], finishedAt = at(-21)): VendorJob => ({
  vendorJobId: `stu_${key}`,
  key,
  feature: 'stylize',
  acceptedAt: '2026-04-01T00:00:00.000Z',
  status,
  finishedAt,
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
    acts: [],
    calm: { fromMs: noon, orphansKnownMs: noon + 45_000, intervalMs: 60_000, tickTakesMs: 10_000 },
    crashes: { workers: 1, gateways: 1, vendors: 1 },
    struck: new Map(faultKinds.map((kind) => [kind, 1])),
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
      /paid 2 times: job_a/,
    ],
    [
      'a purchase made again under another key',
      { ledger: { ...ledger, accepted: [...ledger.accepted, sold('job_a.2', 'succeeded')] } },
      /paid 2 times: job_a/,
    ],
    ['a broken cap', { ledger: { ...ledger, maxInFlight: 2 } }, /over the cap/],
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

/** One job that ended, and its sale. */
function ended(startedAt: number, finishedAt: number, soldAt: number): Partial<Books> {
  const { ledger, jobs } = goodBooks();
  return {
    jobs: [job('job_a', 'succeeded', { startedAt: at(startedAt), finishedAt: at(finishedAt) }), ...jobs.slice(1)],
    ledger: { ...ledger, accepted: [sold('job_a.1', 'succeeded', at(soldAt))] },
  };
}
const act = (flagged: number, settled: number) => ({
  jobId: 'job_a',
  flaggedAtMs: noon + flagged * 1_000,
  settledAtMs: noon + settled * 1_000,
});

describe('the truth within one interval', () => {
  it.each<[string, Partial<Books>]>([
    ['a worker that died is found out when its lease runs out', ended(-30, 45 + 69, -10)],
    ['its picture may be made later than that', ended(-30, 100 + 69, 100)],
    ['begun after the faults, it is known when the vendor ends it', ended(10, 20 + 69, 20)],
    ['what waits for a person is known by the person', { ...ended(-30, 300 + 69, -10), acts: [act(100, 300)] }],
    ['what ended under the faults is no matter', ended(-500, -1, -400)],
  ])('kept: %s', (_what, more) => {
    expect(violations(goodBooks(more))).toEqual([]);
  });

  it.each<[string, Partial<Books>, RegExp]>([
    ['an orphan', ended(-30, 45 + 71, -10), /job_a said its end 71\.0 s after/],
    ['an orphan whose picture is made later', ended(-30, 100 + 71, 100), /job_a said its end 71\.0 s after/],
    ['a job with a living worker', ended(10, 20 + 71, 20), /job_a said its end 71\.0 s after/],
    ['a job after a person', { ...ended(-30, 300 + 71, -10), acts: [act(100, 300)] }, /job_a said its end 71\.0 s/],
    ['a flag', { acts: [act(45 + 71, 200)] }, /job_a said that nobody can tell 71\.0 s after/],
  ])('broken by %s', (_what, more, found) => {
    expect(violations(goodBooks(more)).join('\n')).toMatch(found);
  });
});

describe('a chaos that proves nothing', () => {
  const tried = ended(-30, 50, 40);

  it('is none where everything happened', () => {
    expect(untried(goodBooks(tried))).toEqual([]);
  });

  it.each<[string, Partial<Books>, RegExp]>([
    ['the cap', { cap: 2 }, /cap of 2 was never reached: 1/],
    ['a kind of fault', { struck: new Map([['drop', 1]]) }, /no stall.*no throttle.*no silence/],
    ['a dead worker', { crashes: { workers: 0, gateways: 1, vendors: 1 } }, /no worker/],
    ['a dead runtime', { crashes: { workers: 1, gateways: 0, vendors: 1 } }, /the runtime was not/],
    ['the interval', ended(10, 20, 20), /nothing was out/],
  ])('says that it did not try %s', (_what, more, found) => {
    expect(untried(goodBooks({ ...tried, ...more })).join(', ')).toMatch(found);
  });
});
