/**
 * Every refusal that the API can give, once: code → status, title, and what the caller can do. The OpenAPI document and
 * the docs are made from this table. Codes are for ever: v1 adds, it never renames.
 *
 * Not here, because API Gateway answers them before any code of ours runs: its bare 403, 413, 429 and 5xx.
 */

interface ProblemEntry {
  readonly status: number;
  readonly title: string;
  /** What it means for the caller, in a sentence or two. */
  readonly docs: string;
}

export const PROBLEMS = {
  // Who asks
  credentials_missing: {
    status: 401,
    title: 'Credentials are missing',
    docs: 'Send `X-API-Key` from a server, or `Authorization: Bearer …` from an app.',
  },
  credentials_invalid: {
    status: 401,
    title: 'Credentials are not valid',
    docs: 'The key is unknown or revoked, or the token is forged, malformed, or from an issuer or for an audience that this environment does not accept.',
  },
  credentials_expired: {
    status: 401,
    title: 'The token has expired',
    docs: 'Get a new token and send the same request again, with the same idempotency key.',
  },
  credentials_ambiguous: {
    status: 400,
    title: 'Two kinds of credentials were sent',
    docs: 'Send either `X-API-Key` or `Authorization`, not both.',
  },
  issuer_unreachable: {
    status: 503,
    title: "The token issuer's keys can't be read now",
    docs: 'The token was neither accepted nor refused. Keep it, and try again after `Retry-After`.',
  },
  forbidden: {
    status: 403,
    title: 'These credentials may not do this',
    docs: 'The key lacks the scope that the route needs, or tries to act for a user without the scope `act-for-user`.',
  },
  user_header_invalid: {
    status: 400,
    title: 'The header Slowlane-User is not valid',
    docs: '1 to 128 visible ASCII characters, and not `-`, `.` or `..`.',
  },
  feature_not_allowed: {
    status: 403,
    title: 'These credentials may not use this feature',
    docs: 'The client token was minted for other features.',
  },

  // Any request
  route_not_found: {
    status: 404,
    title: 'There is no such route',
    docs: 'The routes are listed in `/api/v1/openapi.json`.',
  },
  body_malformed: {
    status: 400,
    title: 'The body is not readable',
    docs: 'The JSON or multipart body does not parse, or ends early.',
  },
  request_invalid: {
    status: 400,
    title: 'The request is not valid',
    docs: '`errors` lists each field and what is wrong with it.',
  },
  media_type_unsupported: {
    status: 415,
    title: 'This kind of body is not taken here',
    docs: 'Send `application/json`, or `multipart/form-data` where the route takes a picture.',
  },
  cursor_invalid: {
    status: 400,
    title: 'The cursor is not valid',
    docs: 'Cursors come from `nextCursor` of the same list with the same filter. Begin again without one.',
  },

  // Submit
  idempotency_key_required: {
    status: 400,
    title: 'The header Idempotency-Key is missing',
    docs: 'Make one key when the user acts, keep it, and send it with every retry of that action.',
  },
  idempotency_key_invalid: {
    status: 400,
    title: 'The header Idempotency-Key is not valid',
    docs: '1 to 255 visible ASCII characters.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'This idempotency key belongs to another request',
    docs: 'The job `jobId` was made with this key from a different request, and is unchanged. A new action needs a new key.',
  },
  feature_unknown: {
    status: 400,
    title: 'There is no such feature',
    docs: 'The features are listed by `GET /api/v1/features`. The key is not used up.',
  },
  parameters_invalid: {
    status: 422,
    title: 'The parameters do not fit the feature',
    docs: '`errors` lists each parameter and what is wrong with it. The key is not used up.',
  },
  consent_required: {
    status: 422,
    title: 'Consent is needed',
    docs: 'The feature edits a photograph of a person: send `consent=confirmed` once that person has agreed.',
  },
  image_required: {
    status: 422,
    title: 'A picture is needed',
    docs: 'Send it as the part `image`, or name an upload under `inputs.image.uploadId`.',
  },
  image_unexpected: {
    status: 422,
    title: 'This feature takes no picture',
    docs: 'Leave the picture out.',
  },
  image_type_unsupported: {
    status: 415,
    title: 'This kind of picture is not taken',
    docs: 'Convert it to one of the types that `GET /api/v1/features` lists under `accepts`; HEIC is not among them.',
  },
  image_unreadable: {
    status: 422,
    title: 'The picture is damaged or not what it claims to be',
    docs: 'The bytes do not begin as a picture of the declared type does.',
  },
  image_too_large: {
    status: 413,
    title: 'The picture has too many bytes',
    docs: '`maxBytes` says how many the feature takes.',
  },
  image_too_many_pixels: {
    status: 422,
    title: 'The picture has too many pixels',
    docs: '`maxPixels` says how many the feature takes. It is never shrunk for you.',
  },
  upload_not_found: {
    status: 422,
    title: 'There is no such upload',
    docs: 'The upload id is unknown, or another owner made it.',
  },
  upload_incomplete: {
    status: 422,
    title: 'The upload has not arrived',
    docs: 'Nothing was stored under this upload yet. Upload the bytes, then submit again with the same key.',
  },
  upload_expired: {
    status: 422,
    title: 'The upload has expired',
    docs: 'Ask for a new upload, send the bytes again, and submit with the same key.',
  },
  upload_mismatch: {
    status: 422,
    title: 'The upload is not what was announced',
    docs: 'The stored bytes differ from the announced `sha256`, size or type, or changed while the job was being accepted.',
  },
  active_jobs_limit: {
    status: 429,
    title: 'Too many unfinished jobs',
    docs: 'Wait for one to finish. The key is not used up: send the same request again after `Retry-After`.',
  },
  submit_rate_limit: {
    status: 429,
    title: 'Too many submits',
    docs: 'The key is not used up: send the same request again after `Retry-After`.',
  },
  upload_rate_limit: {
    status: 429,
    title: 'Too many uploads',
    docs: 'Ask again after `Retry-After`. What was uploaded before can still be named in a job.',
  },

  // Jobs
  job_not_found: {
    status: 404,
    title: 'There is no such job',
    docs: 'The id or key is unknown, or the job is another owner’s.',
  },
  job_gone: {
    status: 410,
    title: 'The job was erased',
    docs: 'Its key stays used up and never buys again.',
  },
  result_not_ready: {
    status: 409,
    title: 'The job has no result yet',
    docs: 'Read the job: only `done` ends the wait.',
  },
  result_none: {
    status: 409,
    title: 'The job ended without a result',
    docs: '`status` says how it ended, and the job’s `error` why.',
  },
  result_expired: {
    status: 410,
    title: 'The result is no longer kept',
    docs: 'Results are kept for as long as the job’s `expiresAt` says.',
  },

  // Operators
  job_moved_on: {
    status: 409,
    title: 'The job has moved on',
    docs: 'It is no longer in a state or generation in which this is allowed. Read it again and decide anew.',
  },
  still_may_run: {
    status: 409,
    title: 'The job may still be running at the vendor',
    docs: 'Sending again now could pay twice. `allowedFrom` says when it can no longer be running; a person who knows better says `notRunning: true`.',
  },
  retake_not_possible: {
    status: 409,
    title: 'This vendor can’t be sent the same request again',
    docs: 'Only a vendor that returns the original for our key, and only within its window, may be sent a retake.',
  },
  vendor_job_taken: {
    status: 409,
    title: 'This vendor job belongs to another job',
    docs: 'By our records, or by the key that the vendor took it under. `jobId` names that job where it is one of yours.',
  },
  vendor_job_unknown: {
    status: 422,
    title: 'The vendor does not know this job',
    docs: 'Only what the vendor itself says that it has can be adopted. Nothing was changed.',
  },
  vendor_unreachable: {
    status: 503,
    title: 'The vendor does not answer',
    docs: 'Nothing can be decided without its word, and nothing was changed. Try again after `Retry-After`.',
  },
  vendor_not_configured: {
    status: 409,
    title: 'The job’s vendor is not configured any more',
    docs: 'Deploy with the vendor that the job was sent to; until then it can only be failed.',
  },
  lane_moved_on: {
    status: 409,
    title: 'The lane has moved on',
    docs: 'It was opened, paused or tripped meanwhile, and is unchanged by this. Look at it again and decide anew.',
  },
  lane_not_found: {
    status: 404,
    title: 'There is no such lane',
    docs: 'The lanes are listed by `GET /api/v1/operator/lanes`.',
  },
  cap_above_ceiling: {
    status: 422,
    title: 'The cap is above the deployed ceiling',
    docs: '`ceiling` is the most that this deployment can run; raising it needs a deployment.',
  },

  // Vendors
  vendor_event_unauthorized: {
    status: 401,
    title: 'The event is not authentic',
    docs: 'The token of the URL or the vendor’s signature does not hold.',
  },
  vendor_event_stale: {
    status: 400,
    title: 'The event is too old',
    docs: 'Its signed time is outside the tolerance.',
  },

  // Sockets
  socket_limit: {
    status: 429,
    title: 'Too many sockets',
    docs: 'Close one, or poll the job meanwhile.',
  },
  followers_limit: {
    status: 409,
    title: 'The job has all the followers that it can have',
    docs: 'Close another view of the same job, or poll it.',
  },
  message_invalid: {
    status: 400,
    title: 'The message is not valid',
    docs: 'Messages are JSON: `{"action":"follow","jobIds":[…]}`, `{"action":"unfollow","jobIds":[…]}` or `{"action":"ping"}`.',
  },

  // Ourselves
  try_again_same_key: {
    status: 503,
    title: 'It is not known whether the job was accepted',
    docs: 'Send the same request again with the same idempotency key: if the job exists, that returns it; if not, it makes it.',
  },
  internal: {
    status: 500,
    title: 'Something broke on our side',
    docs: 'Whether the request took effect is not known from this answer: send it again with the same idempotency key.',
  },
  unavailable: {
    status: 503,
    title: 'Not available now',
    docs: 'Send the same request again, with the same idempotency key, after `Retry-After`.',
  },
} as const satisfies Readonly<Record<string, ProblemEntry>>;

export type ProblemCode = keyof typeof PROBLEMS;

/** An RFC 9457 problem. Extra members (`jobId`, `errors`, `allowedFrom`…) stand beside these. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  readonly detail: string;
  readonly requestId: string;
  readonly [extra: string]: unknown;
}

export interface Refusal {
  readonly code: ProblemCode;
  /** What was wrong this time; never a secret and never what the user made. Absent = the table's own sentence. */
  readonly detail?: string | undefined;
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
}

export function problem({ code, detail, extra }: Refusal, requestId: string): Problem {
  const { status, title, docs } = PROBLEMS[code];
  return { ...extra, type: `urn:slowlane:problem:${code}`, title, status, code, detail: detail ?? docs, requestId };
}
