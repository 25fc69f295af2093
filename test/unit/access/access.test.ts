import { describe, expect, it } from 'vitest';
import { maySee, mayUseFeature, type Principal } from '../../../lambdas/domain/access.ts';
import { issueTicket, TICKET_MS, useTicket } from '../../../lambdas/domain/socket-tickets.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { MemoryAccessStore } from '../../fakes/memory-access-store.ts';

const server: Principal = { tenant: 'acme', user: '-', kind: 'key', keyId: 'key_1', scopes: ['jobs'] };
const ann: Principal = { tenant: 'acme', user: 'ann', kind: 'oidc', scopes: ['jobs'] };

describe('whose jobs are seen', () => {
  it.each<[string, Principal, { tenant: string; user: string }, boolean]>([
    ['a user sees their own', ann, { tenant: 'acme', user: 'ann' }, true],
    ["a user never sees another's", ann, { tenant: 'acme', user: 'bob' }, false],
    ['a user of the same name elsewhere is another', ann, { tenant: 'globex', user: 'ann' }, false],
    ['a server sees all users of its tenant', server, { tenant: 'acme', user: 'bob' }, true],
    ['a server sees its own', server, { tenant: 'acme', user: '-' }, true],
    ['a server never sees another tenant', server, { tenant: 'globex', user: 'bob' }, false],
    ['a server that acts for a user sees that user', { ...server, user: 'ann' }, { tenant: 'acme', user: 'ann' }, true],
    ['… and nobody else', { ...server, user: 'ann' }, { tenant: 'acme', user: 'bob' }, false],
    ['no token is a server by its name', { ...ann, user: '-' }, { tenant: 'acme', user: 'bob' }, false],
  ])('%s', (_, principal, owner, seen) => {
    expect(maySee(principal, owner)).toBe(seen);
  });
});

it('holds a principal to its features, where it has a list', () => {
  expect(mayUseFeature(ann, 'upscale')).toBe(true);
  expect(mayUseFeature({ ...ann, features: ['upscale'] }, 'upscale')).toBe(true);
  expect(mayUseFeature({ ...ann, features: ['upscale'] }, 'stylize')).toBe(false);
  expect(mayUseFeature({ ...ann, features: [] }, 'upscale')).toBe(false);
});

describe('a socket ticket', () => {
  it('admits its principal once, within a minute', async () => {
    const office = { access: new MemoryAccessStore(), clock: new ManualClock() };
    const { ticket, expiresAtMs } = await issueTicket(office, ann, 'ticket-1');
    expect(expiresAtMs).toBe(office.clock.now() + TICKET_MS);
    await office.clock.advance(TICKET_MS - 1);
    expect(await useTicket(office, ticket)).toEqual({ kind: 'admitted', principal: ann });
    expect(await useTicket(office, ticket)).toEqual({ kind: 'unknown' });
  });

  it('is worth nothing after a minute', async () => {
    const office = { access: new MemoryAccessStore(), clock: new ManualClock() };
    const { ticket } = await issueTicket(office, ann, 'ticket-1');
    await office.clock.advance(TICKET_MS);
    expect(await useTicket(office, ticket)).toEqual({ kind: 'expired' });
  });
});
