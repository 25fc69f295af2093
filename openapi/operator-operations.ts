import type { ProblemCode } from '../lambdas/http/problem.ts';
import type { Operation } from './operations.ts';

/** The routes for operators, and the one for vendors. */

const body: readonly ProblemCode[] = ['body_malformed', 'request_invalid', 'media_type_unsupported'];
const settling: readonly ProblemCode[] = [
  ...body,
  'job_not_found',
  'job_gone',
  'job_moved_on',
  'vendor_not_configured',
  'vendor_unreachable',
];
const settled = { description: 'Done, or what would be done.', schema: 'Settled' } as const;

export const operatorOperations: Readonly<Record<string, Operation>> = {
  'GET /api/v1/operator/flagged': {
    id: 'listFlagged',
    summary: 'Jobs that wait for a person, with counts by cause',
    description:
      'A request looks at some hundreds of jobs at most: where few of them match the filter, a page is short, or empty, and has a `nextCursor` all the same.',
    scope: 'operator',
    query: 'listFlagged',
    answers: { 200: { description: 'A page.', schema: 'FlaggedList' } },
    problems: ['request_invalid', 'cursor_invalid'],
  },
  'POST /api/v1/operator/flagged/settle': {
    id: 'settleMany',
    summary: 'Settle flagged jobs by filter',
    description: 'With `dryRun: true` it says what would happen to each, and changes nothing.',
    scope: 'operator',
    body: { 'application/json': 'SettleMany' },
    answers: { 200: { description: 'What became of each.', schema: 'SettledMany' } },
    problems: [...body, 'cursor_invalid'],
  },
  'GET /api/v1/operator/jobs/{id}': {
    id: 'readOperatorJob',
    summary: 'A job with its evidence and audit',
    scope: 'operator',
    answers: { 200: { description: 'What a person needs to decide.', schema: 'OperatorJobRead' } },
    problems: ['job_not_found', 'job_gone'],
  },
  'POST /api/v1/operator/jobs/{id}/adopt': {
    id: 'adoptJob',
    summary: 'The vendor has it, under this id',
    description: 'Checked with the vendor; it then goes on, or ends at its truth.',
    scope: 'operator',
    body: { 'application/json': 'Adopt' },
    answers: { 200: settled },
    problems: [...settling, 'vendor_job_unknown', 'vendor_job_taken'],
  },
  'POST /api/v1/operator/jobs/{id}/retake': {
    id: 'retakeJob',
    summary: 'The same vendor key once more',
    description: 'Where the vendor returns the original for it: never a second purchase.',
    scope: 'operator',
    body: { 'application/json': 'Retake' },
    answers: { 200: settled },
    problems: [...settling, 'retake_not_possible'],
  },
  'POST /api/v1/operator/jobs/{id}/resend': {
    id: 'resendJob',
    summary: 'Buy it anew',
    description: "Only once the old request can't be running any more, or a person vouches for that.",
    scope: 'operator',
    body: { 'application/json': 'Resend' },
    answers: { 200: settled },
    problems: [...settling, 'still_may_run'],
  },
  'POST /api/v1/operator/jobs/{id}/fail': {
    id: 'failJob',
    summary: 'End it as failed',
    description:
      "A job that still waits has ended with that. Of any other, its unit of the lane stays held until it can't be running, or a person vouches for that.",
    scope: 'operator',
    body: { 'application/json': 'Fail' },
    answers: { 200: settled },
    problems: settling,
  },
  'GET /api/v1/operator/lanes': {
    id: 'listLanes',
    summary: 'The lanes, their caps and states',
    scope: 'operator',
    answers: { 200: { description: 'All of this deployment.', schema: 'LaneList' } },
    problems: [],
  },
  'PATCH /api/v1/operator/lanes/{lane}': {
    id: 'changeLane',
    summary: 'Change a cap, pause or open a lane',
    scope: 'operator',
    body: { 'application/json': 'ChangeLane' },
    answers: { 200: { description: 'The lane as it is now.', schema: 'Lane' } },
    problems: [...body, 'lane_not_found', 'cap_above_ceiling', 'lane_moved_on'],
  },
  'POST /api/v1/vendor-events/{vendor}/{jobId}/{generation}/{token}': {
    id: 'receiveVendorEvent',
    summary: 'For vendors: what they call back',
    description: 'The URL is made by us for one generation of one job. Always a hint: the vendor is asked.',
    answers: { 204: { description: 'Taken; it need not be sent again.' } },
    problems: ['vendor_event_unauthorized', 'vendor_event_stale', 'body_malformed', 'job_not_found'],
  },
};
