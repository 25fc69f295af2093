import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Job } from '../../../lambdas/domain/job.ts';
import type { LiveMessage } from '../../../lambdas/domain/ports.ts';
import type { Connections, Posted } from '../../../lambdas/progress/connections.ts';
import { SocketFeed } from '../../../lambdas/progress/socket-feed.ts';
import { storedJob } from '../../fixtures/stored-job.ts';

interface Post {
  readonly connectionId: string;
  readonly message: unknown;
  readonly insist: AbortSignal | undefined;
  readonly answer: (posted: Posted) => void;
}

/** Posts stay on their way until the test lets them arrive. */
class SlowConnections implements Connections {
  readonly posts: Post[] = [];

  async post(connectionId: string, message: unknown, insist?: AbortSignal): Promise<Posted> {
    return await new Promise<Posted>((answer) => this.posts.push({ connectionId, message, insist, answer }));
  }

  to(connectionId: string): readonly unknown[] {
    return this.posts.filter((post) => post.connectionId === connectionId).map(({ message }) => message);
  }

  async answer(connectionId: string, posted: Posted = { kind: 'posted' }): Promise<void> {
    this.posts.findLast((post) => post.connectionId === connectionId)?.answer(posted);
    await settled();
  }
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

let connections: SlowConnections;
let unfollowed: string[];
let failures: unknown[];
let render: (job: Job) => Promise<unknown>;
let feed: SocketFeed;
beforeEach(() => {
  connections = new SlowConnections();
  unfollowed = [];
  failures = [];
  render = async ({ id, version, state }) => ({ id, version, state });
  feed = new SocketFeed({
    connections,
    render: (job) => render(job),
    onGone: async (connectionId, jobId) => void unfollowed.push(`${connectionId} ${jobId}`),
    onFailed: (error) => void failures.push(error),
  });
});

const live = (percent: number, version = 3, jobId = 'job_a'): LiveMessage => ({
  type: 'progress',
  jobId,
  progress: { percent, stage: undefined, at: 0 },
  version,
});
const snapshot = (version: number, id = 'job_a'): LiveMessage => ({
  type: 'job',
  job: storedJob('running', { id, version }),
});
const progressBody = (percent: number, version = 3, jobId = 'job_a') => ({
  type: 'progress',
  jobId,
  percent,
  stage: null,
  version,
});
const jobBody = (version: number, id = 'job_a') => ({ type: 'job', job: { id, version, state: 'running' } });

describe('latest wins', () => {
  it('sends one at a time, and of the values that waited meanwhile only the newest', async () => {
    feed.send(['c1'], live(10));
    await settled();
    for (const percent of [20, 30, 40]) feed.send(['c1'], live(percent));
    expect(connections.to('c1')).toEqual([progressBody(10)]);
    await connections.answer('c1');
    expect(connections.to('c1')).toEqual([progressBody(10), progressBody(40)]);
  });

  it('lets a snapshot replace the values before it, and a newer value follow it', async () => {
    feed.send(['c1'], live(10));
    await settled();
    feed.send(['c1'], live(20));
    feed.send(['c1'], snapshot(4));
    feed.send(['c1'], live(30, 4));
    await connections.answer('c1');
    await connections.answer('c1');
    expect(connections.to('c1')).toEqual([progressBody(10), jobBody(4), progressBody(30, 4)]);
  });

  it('never lets an older snapshot replace a newer one', async () => {
    feed.send(['c1'], snapshot(5));
    feed.send(['c1'], snapshot(4));
    await settled();
    expect(connections.to('c1')).toEqual([jobBody(5)]);
  });

  it('is for each job by itself: one job never silences another on the same socket', async () => {
    feed.send(['c1'], live(10));
    feed.send(['c1'], live(50, 3, 'job_b'));
    await settled();
    await connections.answer('c1');
    expect(connections.to('c1')).toEqual([progressBody(10), progressBody(50, 3, 'job_b')]);
  });

  it('loses nothing that is sent in the very moment in which an earlier post arrives', async () => {
    feed.send(['c1'], live(10));
    await settled();
    connections.posts[0]?.answer({ kind: 'posted' });
    for (let turn = 0; turn < 8; turn += 1) {
      feed.send(['c1'], live(20 + turn));
      await Promise.resolve();
    }
    for (let posts = 1; posts <= 10; posts += 1) await connections.answer('c1');
    expect(connections.to('c1').at(-1)).toEqual(progressBody(27));
  });
});

it('a slow socket holds nobody up', async () => {
  feed.send(['slow', 'quick'], live(10));
  await settled();
  await connections.answer('quick');
  feed.send(['slow', 'quick'], live(20));
  await settled();
  expect(connections.to('slow')).toEqual([progressBody(10)]);
  expect(connections.to('quick')).toEqual([progressBody(10), progressBody(20)]);
});

describe('a socket that is gone', () => {
  it('is removed as a follower, and gets nothing more of what waited', async () => {
    feed.send(['c1', 'c2'], live(10));
    await settled();
    feed.send(['c1'], live(20));
    await connections.answer('c1', { kind: 'gone' });
    expect(unfollowed).toEqual(['c1 job_a']);
    expect(connections.to('c1')).toHaveLength(1);
    await connections.answer('c2');
    await feed.flush();
  });

  it('does not end the job, though it can not be removed now', async () => {
    feed = new SocketFeed({
      connections,
      render,
      onGone: () => Promise.reject(new Error('DynamoDB does not answer')),
      onFailed: (error) => void failures.push(error),
    });
    feed.send(['c1'], live(10));
    await settled();
    await connections.answer('c1', { kind: 'gone' });
    await feed.flush();
    expect(failures).toEqual([new Error('DynamoDB does not answer')]);
  });
});

describe('a snapshot', () => {
  it('is insisted on, a live value is not', async () => {
    feed.send(['c1'], live(10));
    feed.send(['c2'], snapshot(4));
    await settled();
    expect(connections.posts.map(({ insist }) => insist?.aborted)).toEqual([undefined, false]);
  });

  it('is no longer insisted on once a newer one of its job waits, which goes next', async () => {
    feed.send(['c1', 'c2'], snapshot(4));
    await settled();
    feed.send(['c1'], snapshot(5));
    expect(connections.posts.map(({ insist }) => insist?.aborted)).toEqual([true, false]);
    await connections.answer('c1', { kind: 'failed', error: new Error('throttled') });
    expect(connections.to('c1')).toEqual([jobBody(4), jobBody(5)]);
  });

  it('is insisted on whatever else its socket is sent meanwhile: that waits', async () => {
    feed.send(['c1'], snapshot(4));
    await settled();
    feed.send(['c1'], snapshot(9, 'job_b'));
    feed.send(['c1'], live(20, 4));
    expect(connections.posts.map(({ insist }) => insist?.aborted)).toEqual([false]);
    await connections.answer('c1');
    await connections.answer('c1');
    expect(connections.to('c1')).toEqual([jobBody(4), jobBody(9, 'job_b'), progressBody(20, 4)]);
  });

  it('is dropped where a newer one is on its way', async () => {
    feed.send(['c1'], snapshot(5));
    await settled();
    feed.send(['c1'], snapshot(4));
    await connections.answer('c1');
    await feed.flush();
    expect(connections.to('c1')).toEqual([jobBody(5)]);
  });
});

it('goes on after a post that failed', async () => {
  feed.send(['c1'], live(10));
  await settled();
  feed.send(['c1'], live(20));
  await connections.answer('c1', { kind: 'failed', error: new Error('throttled') });
  expect(failures).toEqual([new Error('throttled')]);
  expect(connections.to('c1')).toEqual([progressBody(10), progressBody(20)]);
});

it('goes on after a job that could not be shown', async () => {
  render = () => Promise.reject(new Error('S3 does not answer'));
  feed.send(['c1'], snapshot(3));
  feed.send(['c1'], live(20, 3, 'job_b'));
  await settled();
  expect(failures).toEqual([new Error('S3 does not answer')]);
  expect(connections.to('c1')).toEqual([progressBody(20, 3, 'job_b')]);
  await connections.answer('c1');
  await feed.flush();
});

describe('flush', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('waits for everything that was sent, also for what had to wait its turn', async () => {
    let flushed = false;
    feed.send(['c1'], live(10));
    await settled();
    feed.send(['c1'], live(20));
    const flushing = feed.flush().then(() => (flushed = true));
    await connections.answer('c1');
    expect(flushed).toBe(false);
    await connections.answer('c1');
    await flushing;
    expect(connections.to('c1')).toEqual([progressBody(10), progressBody(20)]);
  });

  it('waits for nothing where nothing was sent', async () => {
    await feed.flush();
    expect(connections.posts).toEqual([]);
  });

  it('gives up on a socket that takes no end of time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let flushed = false;
    feed.send(['c1'], live(10));
    await settled();
    const flushing = feed.flush().then(() => (flushed = true));
    await vi.advanceTimersByTimeAsync(3_999);
    expect(flushed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await flushing;
    expect(flushed).toBe(true);
  });
});
