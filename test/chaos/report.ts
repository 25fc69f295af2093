import { markdownTable } from '../../bench/marked-section.ts';
import type { JobBody } from '../../lambdas/http/job-body.ts';
import type { Operator } from './operator.ts';
import { truthsOf, type Truth } from './truth.ts';
import { lateTruths, paidTwice, seconds, type Books } from './verdict.ts';

export interface Report {
  readonly books: Books;
  readonly seed: number;
  readonly seconds: number;
  readonly settled: Operator['settled'];
}

/** What happened and what was found, a line each, as a table. */
export function reportOf(report: Report): string {
  const { books, settled } = report;
  const { crashes, ledger, calm } = books;
  const truths = truthsOf(calm, books.jobs, ledger, books.acts);
  const allowed = `${seconds(calm.intervalMs)} and ${seconds(calm.tickTakesMs)} for the tick's own work`;
  return markdownTable(
    [`seed ${report.seed}, ${report.seconds} s`, ''],
    [
      ['jobs', listed(counted(books.jobs, ({ feature, status }) => `${feature} ${status}`))],
      ['killed', `${crashes.workers} workers, ${crashes.gateways} gateways, ${crashes.vendors} vendors`],
      ['faults that struck', listed(books.struck)],
      ['settled by a person', `${settled.adopted} adopted, ${settled.resent} bought anew, ${settled.ended} ended`],
      ['at the vendor', `${ledger.accepted.length} accepted in ${ledger.posts} posts`],
      ['most at once', `${ledger.maxInFlight}, of a cap of ${books.cap}`],
      ['lost', `${books.actions.length - books.jobs.length}`],
      ['paid twice', `${paidTwice(ledger).length}`],
      ['not at their end', `${books.jobs.filter(({ done }) => !done).length}`],
      ['ended after the faults', `${truths.length}, of them begun before: ${truths.filter(isOrphan).length}`],
      ['latest after it could be known', `${latest(truths, false)}; begun before: ${latest(truths, true)}`],
      [`later than ${allowed}`, `${lateTruths(books).length}`],
    ],
  );
}

const isOrphan = (truth: Truth) => truth.isOrphan;

function latest(truths: readonly Truth[], ofOrphans: boolean): string {
  const late = truths.filter((truth) => truth.isOrphan === ofOrphans).map(({ lateMs }) => lateMs);
  return late.length === 0 ? 'none' : seconds(Math.max(...late));
}

function counted(jobs: readonly JobBody[], nameOf: (job: JobBody) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const job of jobs) counts.set(nameOf(job), (counts.get(nameOf(job)) ?? 0) + 1);
  return counts;
}

const listed = (counts: ReadonlyMap<string, number>) =>
  [...counts].map(([what, count]) => `${count} ${what}`).join(', ');
