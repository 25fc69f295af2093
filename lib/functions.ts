import type { FunctionName } from '../lambdas/runtime/env.ts';

/** A worker is deployed once per lane, every other function once. */
export type SharedFunctionName = Exclude<FunctionName, 'dispatch-job'>;

export type IndexName = 'queued' | 'active' | 'attention' | 'owner';

export type TableAction = 'GetItem' | 'BatchGetItem' | 'PutItem' | 'UpdateItem' | 'DeleteItem' | 'Query';
export type PicturePrefix = 'inputs' | 'results' | 'uploads';
export type PictureAction = 'GetObject' | 'PutObject' | 'DeleteObject';

/** One thing that a function may do. Each is exact: an action by name, a resource by name or by prefix. */
export type Grant =
  | { readonly on: 'table'; readonly actions: readonly TableAction[] }
  | { readonly on: 'index'; readonly indexes: readonly IndexName[] }
  | { readonly on: 'pictures'; readonly prefix: PicturePrefix; readonly actions: readonly PictureAction[] }
  | { readonly on: 'picture-list'; readonly prefixes: readonly PicturePrefix[] }
  /** Rings the lanes; a worker rings only its own. */
  | { readonly on: 'lane-rings'; readonly lanes: 'all' | 'own' }
  /** What Lambda does with the lane's queue in the worker's name. */
  | { readonly on: 'lane-queue' }
  | { readonly on: 'signing-secret' }
  | { readonly on: 'vendor-secrets' }
  | { readonly on: 'events' }
  | { readonly on: 'sockets' };

export interface FunctionSpec {
  readonly does: string;
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
  readonly grants: readonly Grant[];
}

/** API Gateway gives up after 30 s: a function that lives longer answers nobody. */
const httpSeconds = 29;
/** Long enough for nearly every picture; a longer job is handed over, so that a deployment drains in minutes. */
export const workerSeconds = 300;
/** Ends before the next tick begins. */
const reconcilerSeconds = 55;

const allRings: Grant = { on: 'lane-rings', lanes: 'all' };

const table = (...actions: readonly TableAction[]): Grant => ({ on: 'table', actions });
const index = (...indexes: readonly IndexName[]): Grant => ({ on: 'index', indexes });
const pictures = (prefix: PicturePrefix, ...actions: readonly PictureAction[]): Grant => ({
  on: 'pictures',
  prefix,
  actions,
});

const signingSecret: Grant = { on: 'signing-secret' };
const readsList = (...prefixes: readonly PicturePrefix[]): Grant => ({ on: 'picture-list', prefixes });

/** Knows its caller by a key, whose use it notes, or by a token. */
const authenticates = [signingSecret, table('GetItem', 'UpdateItem')] as const;
/** Shows a job: its result links, signed by the function's own role, and its place in the queue. */
const showsJobs = [index('queued'), pictures('results', 'GetObject')] as const;
/** Tells the world that a job ended: the team's event, and its followers. */
const announces = [{ on: 'events' }, { on: 'sockets' }] as const satisfies readonly Grant[];

/** Every function: what it is given, and what it may do. A function may do nothing that is not here. */
export const functionSpecs: Readonly<Record<FunctionName, FunctionSpec>> = {
  'submit-job': {
    does: 'Takes a job once, by its idempotency key',
    memoryMb: 1024,
    timeoutSeconds: httpSeconds,
    grants: [
      ...authenticates,
      table('PutItem', 'DeleteItem'),
      // S3 tells a missing upload from a forbidden one only to those who may list it.
      readsList('uploads'),
      pictures('uploads', 'GetObject'),
      pictures('inputs', 'PutObject', 'DeleteObject'),
      ...showsJobs,
      allRings,
    ],
  },
  'read-job': {
    does: 'Shows a job, by id or by idempotency key, and leads to its result',
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [...authenticates, ...showsJobs],
  },
  'list-jobs': {
    does: "Lists an owner's jobs, newest first",
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [...authenticates, table('BatchGetItem'), index('owner'), ...showsJobs],
  },
  'cancel-job': {
    does: 'Cancels a queued job, or asks for the cancellation of one that was sent',
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [...authenticates, ...showsJobs, ...announces],
  },
  'erase-jobs': {
    does: "Erases a job, or all of a user's, with their pictures",
    memoryMb: 512,
    timeoutSeconds: httpSeconds,
    grants: [
      ...authenticates,
      table('PutItem', 'DeleteItem', 'Query'),
      index('owner'),
      pictures('uploads', 'DeleteObject'),
      pictures('inputs', 'DeleteObject'),
      pictures('results', 'DeleteObject'),
      readsList('uploads', 'inputs', 'results'),
      ...showsJobs,
      ...announces,
    ],
  },
  'create-upload': {
    does: 'Signs an upload of one picture',
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [...authenticates, table('PutItem'), pictures('uploads', 'PutObject')],
  },
  'create-client-token': {
    does: "Mints a short-lived token for one of a server's users",
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [...authenticates],
  },
  'create-socket-ticket': {
    does: 'Mints a single-use ticket for the socket',
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [...authenticates, table('PutItem')],
  },
  'describe-api': {
    does: 'Describes the features and the API; answers the health check',
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [],
  },
  'receive-vendor-event': {
    does: "Takes a vendor's webhook as a hint, and as the receipt that an ambiguous send lost",
    memoryMb: 1024,
    timeoutSeconds: httpSeconds,
    grants: [
      signingSecret,
      { on: 'vendor-secrets' },
      table('GetItem', 'PutItem', 'UpdateItem', 'Query'),
      ...showsJobs,
      allRings,
      ...announces,
    ],
  },
  'operate-jobs': {
    does: 'Lets a person settle what no proof could: adopt, retake, resend, fail',
    memoryMb: 1024,
    timeoutSeconds: httpSeconds,
    grants: [
      ...authenticates,
      { on: 'vendor-secrets' },
      table('PutItem', 'Query', 'BatchGetItem'),
      index('attention'),
      pictures('results', 'PutObject', 'DeleteObject'),
      ...showsJobs,
      allRings,
      ...announces,
    ],
  },
  'operate-lanes': {
    does: 'Shows the lanes; changes cap and state',
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [...authenticates, table('PutItem'), index('queued'), allRings],
  },
  'authorize-socket': {
    does: 'Admits a socket by its ticket, once',
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [table('DeleteItem')],
  },
  'connect-socket': {
    does: 'Notes who is at the other end of a socket',
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [table('PutItem', 'UpdateItem')],
  },
  'disconnect-socket': {
    does: 'Forgets a closed socket',
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [table('UpdateItem')],
  },
  'follow-job': {
    does: 'Lets a socket follow jobs, and answers with their snapshots',
    memoryMb: 512,
    timeoutSeconds: 10,
    grants: [table('GetItem', 'UpdateItem'), ...showsJobs, { on: 'sockets' }],
  },
  'dispatch-job': {
    does: "Serves one ring of its lane: sends a job at most once, and watches it to the vendor's word",
    memoryMb: 1024,
    timeoutSeconds: workerSeconds,
    grants: [
      { on: 'lane-queue' },
      { on: 'lane-rings', lanes: 'own' },
      signingSecret,
      { on: 'vendor-secrets' },
      table('GetItem', 'PutItem', 'UpdateItem', 'Query'),
      pictures('inputs', 'GetObject'),
      // A missing input is the job's fault, a forbidden one ours: S3 tells them apart only to those who may list.
      readsList('inputs'),
      pictures('results', 'PutObject', 'DeleteObject'),
      ...showsJobs,
      ...announces,
    ],
  },
  'reconcile-jobs': {
    does: 'Asks the vendors about every active job, frees what is proven free, announces what was not',
    memoryMb: 1024,
    timeoutSeconds: reconcilerSeconds,
    grants: [
      signingSecret,
      { on: 'vendor-secrets' },
      table('GetItem', 'PutItem', 'UpdateItem', 'Query'),
      index('active', 'attention'),
      pictures('results', 'PutObject', 'DeleteObject'),
      ...showsJobs,
      allRings,
      ...announces,
    ],
  },
};
