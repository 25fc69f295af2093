import type { Context } from 'aws-lambda';
import { beforeAll, expect, it } from 'vitest';
import type { Principal } from '../../lambdas/domain/access.ts';
import { showJob } from '../../lambdas/domain/show-job.ts';
import { issueTicket } from '../../lambdas/domain/socket-tickets.ts';
import { jobBody } from '../../lambdas/http/job-body.ts';
import { authorizeSocket } from '../../lambdas/socket/authorize-socket.ts';
import { socketHandler } from '../../lambdas/socket/entry.ts';
import { mostJobsPerMessage, outgoingSchema, type Outgoing } from '../../lambdas/socket/messages.ts';
import { contextOf } from '../../lambdas/socket/principal.ts';
import { sayUnavailable, serveMessage, type Delivery } from '../../lambdas/socket/serve-message.ts';
import { photoWithPlace } from '../fixtures/photo-with-place.ts';
import { Seeded } from '../fixtures/seeded.ts';
import { inTime } from './batter.ts';
import { allIds, idOf, residents } from './canaries.ts';
import { nastyJson, nastyText, nastyValue } from './nasty.ts';
import { firstSeed, runsOf, suiteTimeoutMs } from './runs.ts';
import { secrets, Target } from './target.ts';
import { changesOf } from './verdict.ts';

const messagesPerTarget = 40;
/** API Gateway's frames. */
const largestFrame = 32_000;

let photo: Uint8Array;
beforeAll(async () => {
  photo = await photoWithPlace();
});

const principals: readonly Principal[] = [
  { tenant: 'acme', user: 'ann', kind: 'client-token', scopes: ['jobs'] },
  { tenant: 'acme', user: '-', kind: 'key', keyId: 'key_1', scopes: ['jobs'] },
  { tenant: 'evil', user: '-', kind: 'key', keyId: 'key_2', scopes: ['jobs', 'operator'] },
  { tenant: 'evil', user: 'ann', kind: 'oidc', scopes: ['jobs'] },
];

const connectionOf = ({ tenant, user }: Principal): string => `connection-of-${tenant}/${user}`;

/** Whose jobs this connection may see, by its tenant and user alone. */
function hiddenFrom({ tenant, user }: Principal) {
  return residents.filter((one) => one.tenant !== tenant || (user !== '-' && one.user !== user));
}

function soundMessage(random: Seeded): unknown {
  const jobIds = Array.from({ length: 1 + random.below(4) }, () => random.pick(allIds));
  switch (random.below(5)) {
    case 0:
      return { action: 'ping' };
    case 1:
      return { action: 'unfollow', jobIds };
    case 2:
      return { action: 'follow', jobIds: [...jobIds, nastyText(random)] };
    default:
      return { action: 'follow', jobIds };
  }
}

function message(random: Seeded): string {
  const sound = soundMessage(random);
  switch (random.below(6)) {
    case 0:
    case 1:
      return JSON.stringify(sound);
    case 2:
      return nastyText(random);
    case 3:
      return JSON.stringify({
        action: 'follow',
        jobIds: Array.from({ length: random.below(60) }, () => nastyValue(random)),
      });
    default:
      return Buffer.from(nastyJson(sound, random)).toString('utf8');
  }
}

class Sockets {
  readonly posted: { readonly connectionId: string; readonly message: Outgoing }[] = [];

  async post(connectionId: string, message: Outgoing): Promise<Delivery> {
    this.posted.push({ connectionId, message });
    return { kind: 'posted' };
  }
}

it('messages are obeyed or refused, and show nobody what is not theirs', { timeout: suiteTimeoutMs }, async () => {
  const wrong: string[] = [];
  const kinds = new Set<string>();
  let target = await Target.open(photo);
  for (let run = 0; run < runsOf(3_000) && wrong.length < 10; run += 1) {
    if (run % messagesPerTarget === 0) target = await Target.open(photo);
    const seed = firstSeed + run;
    const random = new Seeded(seed);
    const principal = random.pick(principals);
    const sockets = new Sockets();
    const { world, log } = target;
    const settings = {
      jobs: world.jobs,
      postbox: sockets,
      render: async (job: Parameters<typeof jobBody>[0]) => jobBody(job, await showJob(job, world)),
    };
    const handler = socketHandler((event) => serveMessage(event, settings), {
      log,
      failed: (event) => sayUnavailable(event, settings),
    });
    const body = message(random);
    const isBase64Encoded = random.below(4) === 0;
    const event = {
      requestContext: {
        routeKey: random.pick(['$default', 'follow', 'unfollow', 'ping']),
        connectionId: connectionOf(principal),
        requestId: 'request-1',
        authorizer: { principalId: 'x', ...contextOf(principal) },
      },
      body: isBase64Encoded ? Buffer.from(body).toString('base64') : body,
      isBase64Encoded,
    };
    const before = target.snapshot();
    target.effects.length = 0;
    target.logged.length = 0;
    const answer = await inTime(handler(event, {} as Context), seed);

    const found: string[] = [];
    const hidden = hiddenFrom(principal);
    if (answer.statusCode !== 200) found.push(`status ${answer.statusCode}`);
    if (sockets.posted.length > mostJobsPerMessage * 2) found.push(`${sockets.posted.length} messages`);
    for (const { connectionId, message: said } of sockets.posted) {
      const text = JSON.stringify(said);
      kinds.add(said.type === 'problem' ? `problem ${said.code}` : said.type);
      if (connectionId !== connectionOf(principal)) found.push('was told to somebody else');
      if (!outgoingSchema.safeParse(said).success) found.push(`is no message: ${text}`);
      if (text.length > largestFrame) found.push(`a message of ${text.length} characters`);
      if (said.type === 'problem' && said.code === 'unavailable') found.push('was our fault');
      if (hidden.some(({ canary }) => text.includes(canary))) found.push(`tells ${text}`);
      if (secrets.some((secret) => text.includes(secret))) found.push(`tells a secret: ${text}`);
    }
    const changed = changesOf(before, target.snapshot());
    found.push(...changed.filter((name) => hidden.some(({ owner }) => name.startsWith(`${owner} `))));
    const isObeyed = sockets.posted.every(
      ({ message: said }) => said.type !== 'problem' || said.code !== 'message_invalid',
    );
    if (!isObeyed && target.effects.length > 0) found.push(`refused, and did ${JSON.stringify(target.effects)}`);
    if (found.length > 0) wrong.push(`seed ${seed}: ${found.join('; ')}: ${body.slice(0, 300)}`);
  }
  expect(wrong).toEqual([]);
  const expected = ['job', 'pong', 'problem job_not_found', 'problem message_invalid'];
  expect(expected.filter((kind) => !kinds.has(kind))).toEqual([]);
});

it('nobody comes in without an unused ticket', { timeout: suiteTimeoutMs }, async () => {
  const { world, log, clock } = await Target.open(photo);
  const office = { access: world.access, clock };
  const ticket = 'a-ticket-of-many-random-bits-0123';
  await issueTicket(office, principals[0] ?? expect.fail('There is nobody.'), ticket);
  const effectOf = async (event: unknown) => {
    const { policyDocument, context } = await authorizeSocket(event, { ...office, log });
    return [policyDocument.Statement[0]?.Effect, context === undefined];
  };
  const eventWith = (queryStringParameters: unknown) => ({
    methodArn: 'arn',
    queryStringParameters,
    requestContext: { requestId: 'r' },
  });
  for (let run = 0; run < runsOf(500); run += 1) {
    const random = new Seeded(firstSeed + run);
    const at = random.below(ticket.length);
    const guess = random.pick<unknown>([
      nastyValue(random),
      ticket.slice(0, at),
      `${ticket}${nastyText(random) || 'x'}`,
      [ticket],
      `${ticket},${ticket}`,
    ]);
    const event =
      random.below(4) === 0
        ? nastyValue(random)
        : eventWith(random.below(4) === 0 ? nastyValue(random) : { ticket: guess });
    expect([guess, await effectOf(event)]).toEqual([guess, ['Deny', true]]);
  }
  expect(await effectOf(eventWith({ ticket }))).toEqual(['Allow', false]);
  expect(await effectOf(eventWith({ ticket }))).toEqual(['Deny', true]);
});

it('a job is followed by those who may see it only', async () => {
  const target = await Target.open(photo);
  const id = idOf(residents[2] ?? expect.fail('Ben is not there.'), 'running');
  const sockets = new Sockets();
  const settings = {
    jobs: target.world.jobs,
    postbox: sockets,
    render: async (job: Parameters<typeof jobBody>[0]) => jobBody(job),
  };
  const handler = socketHandler((event) => serveMessage(event, settings), { log: target.log });
  for (const principal of principals) {
    const context = { routeKey: '$default', requestId: 'r', authorizer: contextOf(principal) };
    const requestContext = { ...context, connectionId: connectionOf(principal) };
    await handler({ requestContext, body: JSON.stringify({ action: 'follow', jobIds: [id] }) }, {} as Context);
  }
  expect(target.jobs.get(id).followers).toEqual(['socket-of-canary-daisy', 'connection-of-acme/-']);
});
