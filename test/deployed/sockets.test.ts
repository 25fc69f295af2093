import { afterEach, expect, test } from 'vitest';
import { newUser, type Api } from './api.ts';
import { finished, newSubmission, submitted } from './jobs.ts';
import { isDone, isJob, isPong, isProblem, Socket, socketUrl, type Message } from './socket.ts';

const open: Socket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.close();
});

async function connect(api: Api): Promise<Socket> {
  const socket = await Socket.open(await socketUrl(api));
  open.push(socket);
  return socket;
}

test('a follower hears a snapshot, progress and the end, and never goes back in time', async () => {
  const { api } = await newUser();
  const socket = await connect(api);
  const { id } = await submitted(api, await newSubmission('upscale'));
  socket.say({ action: 'follow', jobIds: [id] });

  const { job } = await socket.until(isDone);

  expect(job).toMatchObject({ id, status: 'succeeded' });
  expect(job.result?.url).toMatch(/^https?:/);
  // The snapshot and the live values come from two functions: a live value may be there first.
  expect(socket.heard.filter(isJob).map(({ job }) => job.id)).toContain(id);
  const percents = shownPercents(socket.heard);
  expect(percents).toEqual(percents.toSorted((a, b) => a - b));
  expect(percents.length).toBeGreaterThanOrEqual(2);
  expect(percents.at(-1)).toBe(100);
});

/** What a client shows: it drops what is older than what it has, and a snapshot that a value of its version overtook. */
function shownPercents(heard: readonly Message[]): number[] {
  const shown: number[] = [];
  let newest = 0;
  for (const message of heard) {
    const { version, percent } = progressIn(message);
    if (version < newest) continue;
    const isOvertaken = percent === undefined || (version === newest && percent < (shown.at(-1) ?? 0));
    newest = version;
    if (!isOvertaken) shown.push(percent);
  }
  return shown;
}

function progressIn(message: Message): { version: number; percent: number | undefined } {
  if (message.type === 'job') return { version: message.job.version, percent: message.job.progress?.percent };
  if (message.type === 'progress') return message;
  throw new Error(`A follower heard ${JSON.stringify(message)}`);
}

test('two sockets hear the same end, and one that comes late hears it at once', async () => {
  const { api } = await newUser();
  const [first, second] = [await connect(api), await connect(api)];
  const { id } = await submitted(api, await newSubmission());
  for (const socket of [first, second]) socket.say({ action: 'follow', jobIds: [id] });
  const ends = [await first.until(isDone), await second.until(isDone)];

  const late = await connect(api);
  late.say({ action: 'follow', jobIds: [id] });

  expect((await late.until(isJob)).job).toMatchObject({ id, done: true, version: ends[0]!.job.version });
  expect(ends[1]!.job.version).toBe(ends[0]!.job.version);
});

test('a ping is answered', async () => {
  const socket = await connect((await newUser()).api);

  socket.say({ action: 'ping' });

  expect(await socket.until(isPong)).toEqual({ type: 'pong' });
});

test("another user's job is not found, and not followed", async () => {
  const [owner, stranger] = [await newUser(), await newUser()];
  const { id } = await submitted(owner.api, await newSubmission());
  const socket = await connect(stranger.api);

  socket.say({ action: 'follow', jobIds: [id] });

  expect(await socket.until(isProblem)).toMatchObject({ code: 'job_not_found', jobId: id });
  expect(socket.heard).toHaveLength(1);
  await finished(owner.api, id);
});

test.each(['not json', '{"action":"dance"}', '{"action":"follow"}', '{"action":"follow","jobIds":[]}'])(
  'what is no message is answered with a problem: %s',
  async (text) => {
    const socket = await connect((await newUser()).api);

    socket.say(text);

    expect(await socket.until(isProblem)).toMatchObject({ code: 'message_invalid' });
  },
);

test('a ticket is good for one socket', async () => {
  const { api } = await newUser();
  const url = await socketUrl(api);
  open.push(await Socket.open(url));

  expect([401, 403]).toContain(await Socket.refusal(url));
});

test('a forged ticket opens nothing', async () => {
  const url = new URL(await socketUrl((await newUser()).api));
  url.searchParams.set('ticket', 'A'.repeat(43));

  expect([401, 403]).toContain(await Socket.refusal(url.href));
});

test('without a ticket the answer is 401', async () => {
  const url = new URL(await socketUrl((await newUser()).api));
  url.search = '';

  expect(await Socket.refusal(url.href)).toBe(401);
});
