import { parseArgs } from 'node:util';
import path from 'node:path';
import { systemClock, systemWaiting } from '../../lambdas/runtime/clock.ts';
import { reconcileJobs } from '../../lambdas/domain/reconcile-jobs.ts';
import type { Vendor, VendorWord } from '../../lambdas/domain/vendor.ts';
import type { World } from '../../lambdas/domain/world.ts';
import { MemoryDoorbell } from '../../test/fakes/memory-doorbell.ts';
import { MemoryEvidenceStore } from '../../test/fakes/memory-evidence-store.ts';
import { MemoryFileStore } from '../../test/fakes/memory-file-store.ts';
import { MemoryJobIndex } from '../../test/fakes/memory-job-index.ts';
import { MemoryJobStore } from '../../test/fakes/memory-job-store.ts';
import { MemoryLaneStore } from '../../test/fakes/memory-lane-store.ts';
import { CountingTokens } from '../../test/fakes/counting-tokens.ts';
import { storedJob } from '../../test/fixtures/stored-job.ts';
import { markdownTable, writeSection } from '../marked-section.ts';

/**
 * One tick over 10,000 active jobs in real time: 900 are due at a vendor that answers in 100 ms and allows 50 requests
 * a second, as many at one that never answers, the rest waits. All of the first vendor's must be asked within it.
 */

const active = 10_000;
const dueAtEach = 900;
const answerMs = 100;
const tickSeconds = 55;

class PacedVendor {
  asked = 0;
  lastAskedAt = 0;
  most = 0;
  #inFlight = 0;
  readonly #isSilent: boolean;

  constructor(isSilent: boolean) {
    this.#isSilent = isSilent;
  }

  async ask(_id: string, signal: AbortSignal): Promise<VendorWord> {
    this.asked += 1;
    this.lastAskedAt = Date.now();
    this.#inFlight += 1;
    this.most = Math.max(this.most, this.#inFlight);
    await systemWaiting.wait(this.#isSilent ? 600_000 : answerMs, signal);
    this.#inFlight -= 1;
    if (this.#isSilent) return { kind: 'unreachable', message: 'no answer', retryAfterMs: undefined };
    return { kind: 'pending', phase: 'running', percent: 50, stage: undefined };
  }
}

function vendorOver(name: string, paced: PacedVendor): Vendor {
  const unused = () => Promise.reject(new Error('A tick does not ask for this.'));
  return {
    name,
    version: 1,
    traits: {
      dedupe: 'none',
      dedupeMs: 0,
      absence: 'hint',
      listingLagMs: 0,
      maxLifeMs: 3_600_000,
      sendTimeoutMs: 30_000,
      maxSends: 5,
      sendWindowMs: 900_000,
    },
    submit: unused,
    refreshSecret: unused,
    ask: (id, signal) => paced.ask(id, signal),
    watch: () => {
      throw new Error('A tick does not watch.');
    },
    cancel: unused,
    find: undefined,
    fetchResult: unused,
    readEvent: unused,
  };
}

const { values } = parseArgs({ options: { write: { type: 'boolean' } } });
const well = new PacedVendor(false);
const silent = new PacedVendor(true);
const vendors = new Map([
  ['well', vendorOver('well', well)],
  ['silent', vendorOver('silent', silent)],
]);
const now = Date.now();
const jobs = new MemoryJobStore();
const lanes = new MemoryLaneStore({ default: 100 });
for (let number = 0; number < active; number += 1) {
  const fields = {
    id: `job_${number}`,
    vendor: number % 2 === 0 ? 'well' : 'silent',
    createdAt: now,
    queuedAt: now,
    checkAt: now + 3_600_000,
  };
  const due = { checkAt: now - 1_000, watchUntil: now - 1_000, runUntil: now + 600_000, hold: { token: `h${number}` } };
  jobs.put(number < 2 * dueAtEach ? storedJob('running', { ...fields, ...due }) : storedJob('queued', fields));
}
const held = Object.fromEntries(
  Array.from({ length: 2 * dueAtEach }, (_, number) => [
    `h${number}`,
    { jobId: `job_${number}`, attempt: 1, acquiredAt: now },
  ]),
);
lanes.put({ ...lanes.get('default'), held });

const world: World = {
  clock: systemClock,
  waiting: systemWaiting,
  tokens: new CountingTokens(),
  jobs,
  index: new MemoryJobIndex(jobs),
  lanes,
  doorbell: new MemoryDoorbell(),
  files: new MemoryFileStore(),
  evidence: new MemoryEvidenceStore(),
  vendors: { named: (name) => vendors.get(name) },
  bus: { publish: () => Promise.resolve() },
  feed: { send: () => undefined, flush: () => Promise.resolve() },
  notices: { note: () => undefined },
  callbackUrl: () => Promise.resolve(undefined),
  retentionMs: 86_400_000,
};

const budget = { concurrency: 32, perSecond: 50 };
const budgets = new Map([
  ['well', budget],
  ['silent', budget],
]);
const startedAt = Date.now();
const stop = AbortSignal.timeout(tickSeconds * 1000 - 3_000);
const report = await reconcileJobs(world, ['default'], budgets, {
  endsAt: startedAt + tickSeconds * 1000,
  signal: stop,
});
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const table = markdownTable(
  ['vendor', 'due', 'asked', 'last asked after', 'at once, most'],
  [
    ['answers in 100 ms', `${dueAtEach}`, `${well.asked}`, seconds(well.lastAskedAt - startedAt), `${well.most}`],
    ['never answers', `${dueAtEach}`, `${silent.asked}`, seconds(silent.lastAskedAt - startedAt), `${silent.most}`],
  ],
);
const summary = `${active} active jobs, ${report.looked} looked at, ${report.errors.length} errors, tick over after ${seconds(Date.now() - startedAt)}.`;
console.log(`${table}\n\n${summary}`);
if (values.write) {
  const file = path.resolve(import.meta.dirname, '../../docs/benchmarks.md');
  await writeSection(file, 'reconcile', `${table}\n\n${summary}`);
}
process.exit(well.asked === dueAtEach && report.errors.length === 0 ? 0 : 1);
