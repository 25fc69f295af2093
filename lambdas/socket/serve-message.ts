import { followJob } from '../domain/follow-job.ts';
import { mayBeJobId } from '../domain/idempotency.ts';
import type { Job } from '../domain/job.ts';
import type { Deadlines, JobStore } from '../domain/ports.ts';
import type { JobBody } from '../http/job-body.ts';
import { systemWaiting } from '../runtime/clock.ts';
import type { SocketAnswer, SocketEvent } from './entry.ts';
import { problemMessage, readCommand, type Command, type Outgoing } from './messages.ts';

export type Delivery =
  | { readonly kind: 'posted' }
  /** The connection is closed for good. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface Postbox {
  /** @param insist the message is tried again for a moment, until this is aborted; left out, it has one try. */
  post(connectionId: string, message: Outgoing, insist?: AbortSignal): Promise<Delivery>;
}

/** One message's answers are insisted on no longer than this, all together: the function's own time is short. */
const patienceMs = 4_000;

export interface ServeMessageSettings {
  readonly jobs: Pick<JobStore, 'read' | 'follow' | 'unfollow'>;
  readonly postbox: Postbox;
  /** The job as its followers see it. */
  readonly render: (job: Job) => Promise<JobBody>;
  /** The system's, unless a test has its own. */
  readonly deadlines?: Deadlines;
}

type Voice = Pick<ServeMessageSettings, 'postbox' | 'deadlines'>;

/** One message of a socket. Answers are posted to the connection: the API has no answers of its own. */
export async function serveMessage(event: SocketEvent, settings: ServeMessageSettings): Promise<SocketAnswer> {
  const read = readCommand(event.body);
  if (read.kind === 'refused') await say(event, [problemMessage(read.refusal)], settings);
  else await obey(read.command, event, settings);
  return { statusCode: 200 };
}

/** What the other end is told where its message came to nothing by our fault. */
export async function sayUnavailable(event: SocketEvent, voice: Voice) {
  await say(event, [problemMessage({ code: 'unavailable', detail: 'Send the same message again.' })], voice);
}

async function obey(command: Command, event: SocketEvent, settings: ServeMessageSettings): Promise<void> {
  switch (command.action) {
    case 'follow':
      return await follow(event, [...new Set(command.jobIds)], settings);
    case 'unfollow':
      await unfollow(event, command.jobIds, settings);
      return undefined;
    case 'ping':
      await say(event, [{ type: 'pong' }], settings);
      return undefined;
    default:
      return command satisfies never;
  }
}

/** Following comes first and the snapshot after it: whatever changes in between, its follower hears of. */
async function follow(event: SocketEvent, jobIds: readonly string[], settings: ServeMessageSettings): Promise<void> {
  const answers = await Promise.all(jobIds.map((id) => followOne(event, id, settings)));
  const isOpen = await say(event, answers.flat(), settings);
  if (!isOpen) await unfollow(event, jobIds, settings);
}

async function unfollow(
  { connectionId }: SocketEvent,
  jobIds: readonly string[],
  { jobs }: ServeMessageSettings,
): Promise<void> {
  await Promise.all(jobIds.filter(mayBeJobId).map((id) => jobs.unfollow(id, connectionId)));
}

async function followOne(
  { principal, connectionId }: SocketEvent,
  jobId: string,
  settings: ServeMessageSettings,
): Promise<readonly Outgoing[]> {
  const { jobs, render } = settings;
  let following = await followJob(jobs, principal, jobId, connectionId);
  if (following.kind === 'full' && (await dropDeadFollowers(following.job, settings))) {
    following = await followJob(jobs, principal, jobId, connectionId);
  }
  switch (following.kind) {
    case 'following':
      return [{ type: 'job', job: await render(following.job) }];
    case 'full':
      return [{ type: 'job', job: await render(following.job) }, problemMessage({ code: 'followers_limit' }, jobId)];
    case 'absent':
      return [problemMessage({ code: 'job_not_found' }, jobId)];
    default:
      return following satisfies never;
  }
}

/**
 * Sockets that reconnected while their job stood still leave dead followers behind. Only a post finds them out, and a
 * snapshot does the living ones no harm.
 */
async function dropDeadFollowers(job: Job, { jobs, postbox, render }: ServeMessageSettings): Promise<boolean> {
  const snapshot: Outgoing = { type: 'job', job: await render(job) };
  const dropped = await Promise.all(
    job.followers.map(async (follower) => {
      const { kind } = await postbox.post(follower, snapshot);
      if (kind === 'gone') await jobs.unfollow(job.id, follower);
      return kind === 'gone';
    }),
  );
  return dropped.includes(true);
}

/**
 * In order, one after the other, each tried again where it must be: nobody says it later. Once the patience is over the
 * first that fails is the last. False: nobody is there any more.
 */
async function say(
  { connectionId, log }: SocketEvent,
  messages: readonly Outgoing[],
  { postbox, deadlines = systemWaiting }: Voice,
): Promise<boolean> {
  const patience = deadlines.deadline(patienceMs);
  for (const message of messages) {
    const delivery = await postbox.post(connectionId, message, patience);
    if (delivery.kind === 'gone') return false;
    if (delivery.kind === 'failed') {
      log.write('follower_not_reached', { error: delivery.error });
      if (patience.aborted) break;
    }
  }
  return true;
}
