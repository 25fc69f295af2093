import type * as z from 'zod';
import type { operatorJobReadSchema } from '../lambdas/http/operate-jobs.ts';
import type { OperatorJobBody } from '../lambdas/http/operator-job.ts';

/** A job in a terminal. */

/** One line, its parts divided by tabs. */
export function shownLine(job: OperatorJobBody): string {
  return [
    job.job.id,
    `generation ${job.generation}`,
    job.job.status,
    job.cause ?? 'settled',
    job.since === null ? '-' : `since ${job.since}`,
    `lane ${job.lane}`,
    `vendor ${job.vendor}`,
    job.vendorJobId ?? 'no vendor job',
    job.held ? 'holds a unit' : 'holds nothing',
  ].join('\t');
}

export function shownJob({ job, evidence, audit }: z.infer<typeof operatorJobReadSchema>): readonly string[] {
  const { status, feature, createdAt, charge, attention, error } = job.job;
  const price = charge.amount === null ? '' : ` ${charge.amount} ${charge.currency ?? ''}`;
  return [
    `${job.job.id}  ${status}${job.cause === null ? '' : `: ${job.cause} since ${job.since ?? '?'}`}`,
    `  user          ${job.user}`,
    `  feature       ${feature}, submitted ${createdAt}`,
    `  vendor        ${job.vendor}, lane ${job.lane}`,
    `  vendor key    ${job.vendorKey}`,
    `  vendor job    ${job.vendorJobId ?? 'none that we know of'}`,
    `  generation    ${job.generation}, attempt ${job.attempt}, sends ${job.sends}${job.maybeSent ? ', one of them unknown' : ''}`,
    `  unit          ${job.held ? 'held: it may be running' : 'freed'}`,
    `  can't run     ${job.cantBeRunningFrom === null ? 'the vendor sets no bound' : `from ${job.cantBeRunningFrom} on`}`,
    `  charge        ${charge.state}${price}`,
    ...(attention === null ? [] : [`  its user sees ${attention.message}`]),
    ...(error === null ? [] : [`  its user sees ${error.message}`]),
    'Evidence, oldest first:',
    ...(evidence.length === 0 ? ['  none'] : []),
    ...evidence.map(({ at, what, vendorKey, attempt, detail }) =>
      oneLine(`  ${at}  ${what}  ${vendorKey} attempt ${attempt}  ${JSON.stringify(detail)}`),
    ),
    'What people did:',
    ...(audit.length === 0 ? ['  nothing'] : []),
    ...audit.map(({ at, actor, action, reason, detail }) =>
      oneLine(`  ${at}  ${actor}  ${action}  ${JSON.stringify(detail)}  ${reason}`),
    ),
  ];
}

/** What people and vendors wrote moves no cursor and begins no line of its own. */
function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');
}
