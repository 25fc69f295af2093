import type { SharedFunctionName } from './functions.ts';

export interface HttpRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: `/api/v1/${string}`;
  readonly function: SharedFunctionName;
}

export interface SocketRoute {
  readonly key: string;
  readonly function: SharedFunctionName;
}

/** Every HTTP route, and the function that answers it. */
export const httpRoutes = [
  { method: 'POST', path: '/api/v1/jobs', function: 'submit-job' },
  { method: 'GET', path: '/api/v1/jobs', function: 'list-jobs' },
  { method: 'GET', path: '/api/v1/jobs/by-key', function: 'read-job' },
  { method: 'GET', path: '/api/v1/jobs/{id}', function: 'read-job' },
  { method: 'GET', path: '/api/v1/jobs/{id}/result', function: 'read-job' },
  { method: 'POST', path: '/api/v1/jobs/{id}/cancel', function: 'cancel-job' },
  { method: 'DELETE', path: '/api/v1/jobs/{id}', function: 'erase-jobs' },
  { method: 'DELETE', path: '/api/v1/users', function: 'erase-jobs' },

  { method: 'POST', path: '/api/v1/uploads', function: 'create-upload' },
  { method: 'POST', path: '/api/v1/client-tokens', function: 'create-client-token' },
  { method: 'POST', path: '/api/v1/socket-tickets', function: 'create-socket-ticket' },

  { method: 'GET', path: '/api/v1/features', function: 'describe-api' },
  { method: 'GET', path: '/api/v1/openapi.json', function: 'describe-api' },
  { method: 'GET', path: '/api/v1/health', function: 'describe-api' },

  {
    method: 'POST',
    path: '/api/v1/vendor-events/{vendor}/{jobId}/{generation}/{token}',
    function: 'receive-vendor-event',
  },

  { method: 'GET', path: '/api/v1/operator/flagged', function: 'operate-jobs' },
  { method: 'POST', path: '/api/v1/operator/flagged/settle', function: 'operate-jobs' },
  { method: 'GET', path: '/api/v1/operator/jobs/{id}', function: 'operate-jobs' },
  { method: 'POST', path: '/api/v1/operator/jobs/{id}/adopt', function: 'operate-jobs' },
  { method: 'POST', path: '/api/v1/operator/jobs/{id}/retake', function: 'operate-jobs' },
  { method: 'POST', path: '/api/v1/operator/jobs/{id}/resend', function: 'operate-jobs' },
  { method: 'POST', path: '/api/v1/operator/jobs/{id}/fail', function: 'operate-jobs' },

  { method: 'GET', path: '/api/v1/operator/lanes', function: 'operate-lanes' },
  { method: 'PATCH', path: '/api/v1/operator/lanes/{lane}', function: 'operate-lanes' },
] as const satisfies readonly HttpRoute[];

/** Every message that a socket may send is followed by the same function; it tells them apart by `action`. */
export const socketRoutes = [
  { key: '$connect', function: 'connect-socket' },
  { key: '$disconnect', function: 'disconnect-socket' },
  { key: 'follow', function: 'follow-job' },
  { key: 'unfollow', function: 'follow-job' },
  { key: 'ping', function: 'follow-job' },
  { key: '$default', function: 'follow-job' },
] as const satisfies readonly SocketRoute[];

/** Runs before `$connect`: a socket without a valid ticket is refused before it opens. */
export const socketAuthorizer = 'authorize-socket' satisfies SharedFunctionName;
