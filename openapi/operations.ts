import type { ProblemCode } from '../lambdas/http/problem.ts';
import type { SchemaName } from './schemas.ts';

export interface Answer {
  readonly description: string;
  readonly schema?: SchemaName;
  readonly headers?: readonly AnswerHeader[];
}

export type AnswerHeader = 'Location' | 'Idempotent-Replayed' | 'Retry-After';

export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Absent: for everybody. */
  readonly scope?: 'jobs' | 'tokens' | 'operator';
  readonly idempotencyKey?: boolean;
  readonly query?: 'listJobs' | 'listFlagged' | 'eraseUser';
  readonly body?: Readonly<Record<string, SchemaName>>;
  readonly answers: Readonly<Record<number, Answer>>;
  readonly problems: readonly ProblemCode[];
}

const shown: Answer = { description: 'The job as it is now.', schema: 'Job', headers: ['Retry-After'] };
const body: readonly ProblemCode[] = ['body_malformed', 'request_invalid', 'media_type_unsupported'];
const named: readonly ProblemCode[] = ['job_not_found', 'job_gone'];
const key: readonly ProblemCode[] = ['idempotency_key_required', 'idempotency_key_invalid'];

/** Every route for apps and their servers, by the key that API Gateway knows it by. */
export const operations: Readonly<Record<string, Operation>> = {
  'POST /api/v1/jobs': {
    id: 'submitJob',
    summary: 'Take one action of a user, once',
    description:
      'Make the key when the user acts, keep it, and send it with every retry: the same key always leads to the same job. A refusal does not use it up.',
    scope: 'jobs',
    idempotencyKey: true,
    body: { 'application/json': 'SubmitJob', 'multipart/form-data': 'SubmitJobForm' },
    answers: {
      202: { description: 'A new job.', schema: 'Job', headers: ['Location', 'Retry-After'] },
      200: {
        description: 'The job that this key already made, whatever became of it.',
        schema: 'Job',
        headers: ['Location', 'Idempotent-Replayed', 'Retry-After'],
      },
    },
    problems: [
      ...key,
      ...body,
      'idempotency_key_reused',
      'job_gone',
      'feature_unknown',
      'feature_not_allowed',
      'parameters_invalid',
      'consent_required',
      'image_required',
      'image_unexpected',
      'image_type_unsupported',
      'image_unreadable',
      'image_too_large',
      'image_too_many_pixels',
      'upload_not_found',
      'upload_incomplete',
      'upload_expired',
      'upload_mismatch',
      'active_jobs_limit',
      'submit_rate_limit',
      'try_again_same_key',
    ],
  },
  'GET /api/v1/jobs': {
    id: 'listJobs',
    summary: "List one's own jobs, newest first",
    scope: 'jobs',
    query: 'listJobs',
    answers: { 200: { description: 'A page.', schema: 'JobList' } },
    problems: ['request_invalid', 'cursor_invalid'],
  },
  'GET /api/v1/jobs/{id}': {
    id: 'readJob',
    summary: 'Read a job',
    scope: 'jobs',
    answers: { 200: shown },
    problems: named,
  },
  'GET /api/v1/jobs/by-key': {
    id: 'readJobByKey',
    summary: 'Find a job by its idempotency key',
    description: 'For an app that lost the answer to its submit.',
    scope: 'jobs',
    idempotencyKey: true,
    answers: { 200: shown },
    problems: [...key, ...named],
  },
  'GET /api/v1/jobs/{id}/result': {
    id: 'readResult',
    summary: 'Fetch the result',
    description: 'A redirect to a short-lived URL; the URL itself where `Accept: application/json` is sent.',
    scope: 'jobs',
    answers: {
      200: { description: 'Where JSON was asked for.', schema: 'ResultUrl' },
      302: { description: 'To the picture.', headers: ['Location'] },
    },
    problems: [...named, 'result_not_ready', 'result_none', 'result_expired'],
  },
  'POST /api/v1/jobs/{id}/cancel': {
    id: 'cancelJob',
    summary: 'Cancel a job, or ask for it',
    description: 'At once while it is queued, else a request: the vendor may have finished, and its word is the end.',
    scope: 'jobs',
    answers: { 200: shown },
    problems: named,
  },
  'DELETE /api/v1/jobs/{id}': {
    id: 'eraseJob',
    summary: 'Erase a job and its pictures',
    description: 'Its key stays used up. A job that may still be running is asked to cancel; erase it once it is done.',
    scope: 'jobs',
    answers: { 204: { description: 'It is gone.' }, 202: { ...shown, description: 'It may still be running.' } },
    problems: ['job_not_found'],
  },
  'DELETE /api/v1/users': {
    id: 'eraseUser',
    summary: 'Erase all jobs and pictures of one user',
    scope: 'jobs',
    query: 'eraseUser',
    answers: {
      200: { description: 'Nothing is left.', schema: 'OwnerErasure' },
      202: { description: 'Something is left: ask again later.', schema: 'OwnerErasure' },
    },
    problems: ['request_invalid'],
  },
  'POST /api/v1/uploads': {
    id: 'createUpload',
    summary: 'Ask to upload a picture',
    description: 'For pictures that are larger than a request to this API may be, about 4.5 MB.',
    scope: 'jobs',
    body: { 'application/json': 'CreateUpload' },
    answers: { 201: { description: 'A form to send the bytes with.', schema: 'Upload' } },
    problems: [...body, 'image_type_unsupported', 'image_too_large', 'upload_rate_limit'],
  },
  'POST /api/v1/client-tokens': {
    id: 'createClientToken',
    summary: 'Mint a short-lived token for one user',
    description: 'For a server, whose key never leaves it, and the app of its user.',
    scope: 'tokens',
    body: { 'application/json': 'CreateClientToken' },
    answers: { 201: { description: 'A bearer token.', schema: 'ClientToken' } },
    problems: [...body, 'feature_unknown'],
  },
  'POST /api/v1/socket-tickets': {
    id: 'createSocketTicket',
    summary: 'Get a ticket for the socket',
    description:
      'Connect to `url` and send `{"action":"follow","jobIds":["job_…"]}`: the jobs’ snapshots come at once, and then what changes. A message may come twice or late: whatever has a lower `version` than what you know of its job is old. No push is promised: read the job with `GET` every 30 to 60 seconds while its socket is silent, until it is `done`.',
    scope: 'jobs',
    answers: { 201: { description: 'For one connection, soon.', schema: 'SocketTicket' } },
    problems: [],
  },
  'GET /api/v1/features': {
    id: 'listFeatures',
    summary: 'What can be asked for',
    answers: { 200: { description: 'Every feature of this deployment.', schema: 'Features' } },
    problems: [],
  },
  'GET /api/v1/openapi.json': {
    id: 'describeApi',
    summary: 'This document',
    answers: { 200: { description: 'OpenAPI 3.1.' } },
    problems: [],
  },
  'GET /api/v1/health': {
    id: 'checkHealth',
    summary: 'Whether the API answers',
    answers: { 200: { description: 'It does.', schema: 'Health' } },
    problems: [],
  },
};
