import type { Context } from 'aws-lambda';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Principal } from '../../lambdas/domain/access.ts';
import { jobBody } from '../../lambdas/http/job-body.ts';
import { createLog } from '../../lambdas/runtime/log.ts';
import { connectSocket, disconnectSocket } from '../../lambdas/socket/connect-socket.ts';
import { socketHandler } from '../../lambdas/socket/entry.ts';
import { outgoingSchema, type Outgoing } from '../../lambdas/socket/messages.ts';
import { contextOf } from '../../lambdas/socket/principal.ts';
import { sayUnavailable, serveMessage, type Delivery, type Postbox } from '../../lambdas/socket/serve-message.ts';
import { ManualClock } from '../fakes/manual-clock.ts';
import { MemoryJobStore } from '../fakes/memory-job-store.ts';
import { MemorySocketStore } from '../fakes/memory-socket-store.ts';
import { storedJob } from '../fixtures/stored-job.ts';

/** Connections as API Gateway has them: those that are closed answer 410. */
class Connections implements Postbox {
  readonly closed = new Set<string>();
  readonly inboxes = new Map<string, Outgoing[]>();
  readonly insisted: { readonly connectionId: string; readonly insist: AbortSignal | undefined }[] = [];
  broken = false;

  async post(connectionId: string, message: Outgoing, insist?: AbortSignal): Promise<Delivery> {
    this.insisted.push({ connectionId, insist });
    if (this.broken) return { kind: 'failed', error: new Error('API Gateway does not answer') };
    if (this.closed.has(connectionId)) return { kind: 'gone' };
    outgoingSchema.parse(message);
    this.inboxes.set(connectionId, [...(this.inboxes.get(connectionId) ?? []), message]);
    return { kind: 'posted' };
  }
}

const ann: Principal = { tenant: 'acme', user: 'ann', kind: 'client-token', scopes: ['jobs'] };
const ben: Principal = { ...ann, user: 'ben' };
const server: Principal = { tenant: 'acme', user: '-', kind: 'key', keyId: 'key_1', scopes: ['jobs'] };
const stranger: Principal = { ...server, tenant: 'evil' };

let clock: ManualClock;
let jobs: MemoryJobStore;
let sockets: MemorySocketStore;
let connections: Connections;
let lines: string[];
beforeEach(() => {
  clock = new ManualClock();
  jobs = new MemoryJobStore();
  sockets = new MemorySocketStore();
  connections = new Connections();
  lines = [];
});

const eventOf = (principal: Principal, connectionId: string, routeKey: string, body?: string) => ({
  requestContext: {
    routeKey,
    connectionId,
    requestId: 'r1',
    authorizer: { principalId: 'x', ...contextOf(principal) },
  },
  ...(body === undefined ? {} : { body }),
  isBase64Encoded: false,
});
const log = () => createLog({ environment: 'test', function: 'test', clock, writeLine: (line) => lines.push(line) });

async function say(principal: Principal, message: unknown, connectionId = 'c1='): Promise<readonly Outgoing[]> {
  const before = connections.inboxes.get(connectionId)?.length ?? 0;
  const render = async (job: Parameters<typeof jobBody>[0]) => jobBody(job);
  const settings = { jobs, postbox: connections, render, deadlines: clock };
  const handler = socketHandler((event) => serveMessage(event, settings), {
    log: log(),
    failed: (event) => sayUnavailable(event, settings),
  });
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  await handler(eventOf(principal, connectionId, '$default', body), {} as Context);
  return connections.inboxes.get(connectionId)?.slice(before) ?? [];
}

const follow = (...jobIds: string[]) => ({ action: 'follow', jobIds });

describe('following', () => {
  it('answers with a whole snapshot, and has the job tell this socket from now on', async () => {
    jobs.put(storedJob('running'));
    const [message] = await say(ann, follow('job_a'));
    expect(message).toMatchObject({ type: 'job', job: { id: 'job_a', status: 'running', version: 3, done: false } });
    expect(jobs.get('job_a').followers).toEqual(['c1=']);
    expect(jobs.get('job_a').version).toBe(3);
  });

  it('answers for each job by itself, in the order asked, twice named or not', async () => {
    jobs.put(storedJob('queued', { id: 'job_b' }));
    jobs.put(storedJob('succeeded', { id: 'job_c' }));
    const messages = await say(ann, follow('job_c', 'job_none', 'job_b', 'job_c'));
    expect(messages).toMatchObject([
      { type: 'job', job: { id: 'job_c', done: true } },
      { type: 'problem', code: 'job_not_found', jobId: 'job_none' },
      { type: 'job', job: { id: 'job_b' } },
    ]);
  });

  it("is for the job's owner, and for servers of its tenant; to anyone else the job is not there", async () => {
    jobs.put(storedJob('running'));
    expect(await say(server, follow('job_a'), 'server=')).toMatchObject([{ type: 'job' }]);
    for (const other of [ben, stranger]) {
      expect(await say(other, follow('job_a'), 'other=')).toMatchObject([{ code: 'job_not_found', jobId: 'job_a' }]);
    }
    expect(jobs.get('job_a').followers).toEqual(['server=']);
  });

  it('is the same the second time', async () => {
    jobs.put(storedJob('running'));
    await say(ann, follow('job_a'));
    expect(await say(ann, follow('job_a'))).toMatchObject([{ type: 'job' }]);
    expect(jobs.get('job_a').followers).toEqual(['c1=']);
  });

  it('tells the ninth follower the truth once, and that it will hear no more', async () => {
    const followers = Array.from({ length: 8 }, (_, index) => `living-${index}`);
    jobs.put(storedJob('running', { followers }));
    expect(await say(ann, follow('job_a'))).toMatchObject([
      { type: 'job', job: { id: 'job_a' } },
      { type: 'problem', code: 'followers_limit', jobId: 'job_a' },
    ]);
    expect(jobs.get('job_a').followers).toEqual(followers);
  });

  it('takes the place of followers that are dead, though the job stood still since', async () => {
    const followers = Array.from({ length: 8 }, (_, index) => `follower-${index}`);
    jobs.put(storedJob('queued', { followers }));
    for (const dead of followers.slice(1)) connections.closed.add(dead);
    expect(await say(ann, follow('job_a'))).toMatchObject([{ type: 'job' }]);
    expect(jobs.get('job_a').followers).toEqual(['follower-0', 'c1=']);
    expect(connections.inboxes.get('follower-0')).toMatchObject([{ type: 'job', job: { id: 'job_a' } }]);
  });

  it('leaves nothing behind of a socket that closed while its answer was made', async () => {
    jobs.put(storedJob('running'));
    connections.closed.add('c1=');
    await say(ann, follow('job_a'));
    expect(jobs.get('job_a').followers).toEqual([]);
  });

  it('stands although the answer could not be posted just now', async () => {
    jobs.put(storedJob('running'));
    connections.broken = true;
    await say(ann, follow('job_a'));
    expect(jobs.get('job_a').followers).toEqual(['c1=']);
    expect(lines.join()).toContain('follower_not_reached');
  });
});

describe('the answers to one message', () => {
  beforeEach(() => {
    for (const id of ['job_a', 'job_b', 'job_c']) jobs.put(storedJob('running', { id }));
  });

  it('are insisted on, for a few seconds all together', async () => {
    await say(ann, follow('job_a', 'job_b', 'job_none'));
    const [first, ...others] = connections.insisted.map(({ insist }) => insist);
    expect(others).toEqual([first, first]);
    await clock.advance(3_999);
    expect(first?.aborted).toBe(false);
    await clock.advance(1);
    expect(first?.aborted).toBe(true);
  });

  it('end with the first that fails after that', async () => {
    const { insisted } = connections;
    connections.post = async (connectionId, _, insist) => {
      insisted.push({ connectionId, insist });
      if (insisted.length === 2) await clock.advance(4_000);
      return { kind: 'failed', error: new Error('API Gateway does not answer') };
    };
    await say(ann, follow('job_a', 'job_b', 'job_c'));
    expect(insisted).toHaveLength(2);
    expect(lines.filter((line) => line.includes('follower_not_reached'))).toHaveLength(2);
  });

  it('include pongs and problems', async () => {
    await say(ann, { action: 'ping' });
    await say(ann, 'what?');
    jobs.read = () => Promise.reject(new Error('DynamoDB does not answer'));
    await say(ann, follow('job_a'));
    expect(connections.insisted.map(({ insist }) => insist?.aborted)).toEqual([false, false, false]);
  });

  it('take no more tries than one to find out dead followers', async () => {
    const followers = Array.from({ length: 8 }, (_, index) => `living-${index}`);
    jobs.put(storedJob('running', { followers }));
    await say(ann, follow('job_a'));
    const probes = connections.insisted.filter(({ connectionId }) => connectionId !== 'c1=');
    expect(probes.map(({ insist }) => insist)).toEqual(Array.from({ length: 8 }, () => undefined));
  });
});

it('stops following', async () => {
  jobs.put(storedJob('running', { followers: ['c1=', 'c2='] }));
  expect(await say(ann, { action: 'unfollow', jobIds: ['job_a', 'job_none'] })).toEqual([]);
  expect(jobs.get('job_a').followers).toEqual(['c2=']);
});

it('answers a ping', async () => {
  expect(await say(ann, { action: 'ping' })).toEqual([{ type: 'pong' }]);
});

it.each([['what?'], [{ action: 'shout' }], [{ action: 'follow', jobIds: [] }]])(
  'answers %j with a problem',
  async (it) => {
    expect(await say(ann, it)).toMatchObject([{ type: 'problem', code: 'message_invalid' }]);
  },
);

it('tells the other end when its message came to nothing by our fault', async () => {
  jobs.read = () => Promise.reject(new Error('DynamoDB does not answer'));
  expect(await say(ann, follow('job_a'))).toMatchObject([{ type: 'problem', code: 'unavailable' }]);
  expect(lines.join()).toContain('request_failed');
});

describe('connecting', () => {
  const connect = (principal: Principal, connectionId: string) =>
    socketHandler((event) => connectSocket(event, { sockets, clock, limit: 2 }), { log: log() })(
      eventOf(principal, connectionId, '$connect'),
      {} as Context,
    );
  const disconnect = (principal: Principal, connectionId: string) =>
    socketHandler((event) => disconnectSocket(event, { sockets }), { log: log() })(
      eventOf(principal, connectionId, '$disconnect'),
      {} as Context,
    );

  it('opens as many sockets as one owner may have, and more once one has closed', async () => {
    expect(await connect(ann, 'a=')).toEqual({ statusCode: 200 });
    expect(await connect(ann, 'b=')).toEqual({ statusCode: 200 });
    expect(await connect(ann, 'c=')).toEqual({ statusCode: 429 });
    expect(await connect(ben, 'c=')).toEqual({ statusCode: 200 });
    await disconnect(ann, 'a=');
    expect(await connect(ann, 'd=')).toEqual({ statusCode: 200 });
    expect(sockets.of('acme/ann')).toEqual(['b=', 'd=']);
  });

  it('opens none while it is not known how many there are', async () => {
    sockets.admit = () => Promise.reject(new Error('DynamoDB does not answer'));
    expect(await connect(ann, 'a=')).toEqual({ statusCode: 503 });
  });

  it('serves no event whose caller is not known', async () => {
    const event = { requestContext: { routeKey: '$connect', connectionId: 'a=', requestId: 'r1' } };
    const handler = socketHandler((one) => connectSocket(one, { sockets, clock, limit: 2 }), { log: log() });
    await expect(handler(event, {} as Context)).rejects.toThrow('authorizer');
    const forged = { ...event.requestContext, authorizer: { principal: '{"tenant":"acme"}' } };
    await expect(handler({ requestContext: forged }, {} as Context)).rejects.toThrow('principal');
  });
});
