import { beforeEach, expect, it } from 'vitest';
import type { Principal } from '../../../lambdas/domain/access.ts';
import { issueTicket, TICKET_MS } from '../../../lambdas/domain/socket-tickets.ts';
import { createLog } from '../../../lambdas/runtime/log.ts';
import { authorizeSocket } from '../../../lambdas/socket/authorize-socket.ts';
import { connectionContext } from '../../../lambdas/socket/principal.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { MemoryAccessStore } from '../../fakes/memory-access-store.ts';

const methodArn = 'arn:aws:execute-api:eu-west-1:123456789012:api/v1/$connect';
const principal: Principal = {
  tenant: 'acme corp',
  user: 'ann',
  kind: 'client-token',
  scopes: ['jobs'],
  features: ['upscale'],
  maxJobs: 3,
};

let clock: ManualClock;
let access: MemoryAccessStore;
let lines: string[];
beforeEach(() => {
  clock = new ManualClock();
  access = new MemoryAccessStore();
  lines = [];
});

const connect = (queryStringParameters?: Record<string, string>) => {
  const log = createLog({ environment: 'test', function: 'test', clock, writeLine: (line) => lines.push(line) });
  const event = { methodArn, queryStringParameters, requestContext: { requestId: 'r1' } };
  return authorizeSocket(event, { access, clock, log });
};
const effectOf = ({ policyDocument }: Awaited<ReturnType<typeof connect>>) => policyDocument.Statement[0]?.Effect;

it('lets the holder of a ticket in, for this connection only, and says who it is', async () => {
  await issueTicket({ access, clock }, principal, 'a-ticket');
  const answer = await connect({ ticket: 'a-ticket' });
  expect(answer).toMatchObject({
    principalId: 'acme%20corp/ann',
    policyDocument: {
      Version: '2012-10-17',
      Statement: [{ Action: 'execute-api:Invoke', Effect: 'Allow', Resource: methodArn }],
    },
  });
  expect(connectionContext.parse(answer.context)).toEqual(principal);
  expect(Object.values(answer.context ?? {}).every((value) => typeof value === 'string')).toBe(true);
});

it('lets a ticket in once', async () => {
  await issueTicket({ access, clock }, principal, 'a-ticket');
  const answers = await Promise.all([1, 2, 3].map(() => connect({ ticket: 'a-ticket' })));
  expect(answers.filter((answer) => effectOf(answer) === 'Allow')).toHaveLength(1);
  expect(answers.filter((answer) => effectOf(answer) === 'Deny')).toHaveLength(2);
});

it('refuses a ticket that has expired', async () => {
  await issueTicket({ access, clock }, principal, 'a-ticket');
  await clock.advance(TICKET_MS);
  expect(effectOf(await connect({ ticket: 'a-ticket' }))).toBe('Deny');
});

it.each([[undefined], [{}], [{ ticket: '' }], [{ ticket: 'forged' }], [{ ticket: 'x'.repeat(10_000) }]])(
  'refuses %j without telling who it might have been',
  async (query) => {
    const answer = await connect(query);
    expect(effectOf(answer)).toBe('Deny');
    expect(answer.context).toBeUndefined();
  },
);

it('never logs a ticket', async () => {
  await connect({ ticket: 'a-secret-ticket' });
  expect(lines).toHaveLength(1);
  expect(lines.join()).toContain('ticket_unknown');
  expect(lines.join()).not.toContain('a-secret-ticket');
});
