import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { manageFlagged } from '../../../operator/flagged.ts';
import { createOperatorApi } from '../../../operator/operator-api.ts';
import { runInTerminal, type ExitCode } from '../../../operator/terminal-tool.ts';
import { pending } from '../../fakes/told-vendor.ts';
import { OperatorGateway } from '../../fixtures/operator-gateway.ts';
import { OperatorServer } from '../../fixtures/operator-server.ts';
import { noon } from '../../fixtures/stored-job.ts';

let gateway: OperatorGateway;
let server: OperatorServer;
let url: string;
let printed: string[];
let explained: string[];
beforeEach(async () => {
  gateway = new OperatorGateway();
  await gateway.grantKey('operator', 'acme', ['operator']);
  server = new OperatorServer(gateway);
  url = await server.start();
  printed = [];
  explained = [];
});
afterEach(() => server.stop());

const run = (line: readonly string[], variables?: Record<string, string>): Promise<ExitCode> =>
  runInTerminal(
    'THE USAGE',
    {
      connect: createOperatorApi,
      variables: variables ?? { SLOWLANE_URL: url, SLOWLANE_KEY: 'operator' },
      print: (text) => printed.push(text),
      explain: (text) => explained.push(text),
    },
    (tool) => manageFlagged(line, tool),
  );
const flagged = (line: string, ...more: string[]) => run([...line.split(' '), ...more]);
const because = ['--reason', 'they said so by mail'];
const job = () => gateway.jobs.get('job_a');

describe('list', () => {
  it('prints a line for each job, oldest first, and says how many there are of each cause', async () => {
    gateway.put('needs_attention');
    gateway.put('needs_attention', { id: 'job_b', flag: { code: 'overdue', since: noon }, hold: undefined });
    expect(await flagged('list')).toBe(0);
    expect(printed).toHaveLength(2);
    expect(printed[0]).toContain('job_b\tgeneration 1\tneeds_attention\toverdue\tsince 2026-01-01T12:00:00.000Z');
    expect(printed[1]).toContain('job_a\t');
    expect(explained).toEqual(['1 overdue, 1 unknown_send.']);
  });

  it('reads page after page, as many as asked for', async () => {
    for (let index = 10; index < 70; index += 1) {
      gateway.put('needs_attention', { id: `job_${index}`, hold: undefined });
    }
    expect(await flagged('list --limit 55')).toBe(0);
    expect(printed.map((line) => line.split('\t')[0])).toEqual(
      Array.from({ length: 55 }, (_, index) => `job_${index + 10}`),
    );
    expect(explained).toEqual(['60 unknown_send. Not all are shown.']);
  });

  it('filters, and prints JSON for scripts', async () => {
    gateway.put('needs_attention');
    gateway.put('needs_attention', { id: 'job_b', vendor: 'blind', hold: undefined });
    expect(await flagged('list --vendor blind --json')).toBe(0);
    expect(printed.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { job: { id: 'job_b' }, vendor: 'blind' },
    ]);
  });
});

describe('show', () => {
  it('tells what was sent and when, and what people did', async () => {
    gateway.put('needs_attention');
    const seen = { at: noon, attempt: 1, generation: 1, vendorKey: 'job_a.1', what: 'send_unknown' };
    await gateway.evidence.add('job_a', { ...seen, detail: { message: 'reset\n\u001b[2Jby peer' } });
    await flagged('fail job_a', ...because);
    printed = [];
    expect(await flagged('show job_a')).toBe(0);
    const text = printed.join('\n');
    expect(text).toContain('vendor key    job_a.1');
    expect(text).toContain('send_unknown');
    expect(text).toContain('key:acme/key-of-operator  fail');
    expect(text).toContain('they said so by mail');
    expect(text).not.toContain('\u001b');
  });

  it('says so where there is no such job', async () => {
    expect(await flagged('show job_none')).toBe(1);
    expect(explained[0]).toContain('There is no such job (job_not_found)');
  });
});

describe('one order', () => {
  it('takes the present generation where none is named', async () => {
    gateway.put('needs_attention', { generation: 3 });
    expect(await flagged('resend job_a --not-running', ...because)).toBe(0);
    expect(job()).toMatchObject({ state: 'queued', generation: 4 });
    expect(explained).toEqual(['Done: queued.']);
  });

  it('is refused where the named generation is not the present one', async () => {
    gateway.put('needs_attention', { generation: 2 });
    expect(await flagged('resend job_a --not-running --generation 1', ...because)).toBe(1);
    expect(explained[0]).toContain('job_moved_on');
    expect(job()).toMatchObject({ state: 'needs_attention', generation: 2 });
  });

  it('says from when on a resend is allowed', async () => {
    gateway.put('needs_attention');
    expect(await flagged('resend job_a', ...because)).toBe(1);
    expect(explained[0]).toContain('Allowed from 2026-01-01T12:10:45.000Z on.');
  });

  it('adopts', async () => {
    gateway.put('needs_attention');
    gateway.studio.words.set('v-1', pending);
    expect(await flagged('adopt job_a --vendor-job v-1', ...because)).toBe(0);
    expect(job()).toMatchObject({ state: 'running', vendorJobId: 'v-1' });
  });

  it('retakes', async () => {
    gateway.put('needs_attention');
    expect(await flagged('retake job_a', ...because)).toBe(0);
    expect(job().state).toBe('dispatching');
  });

  it('changes nothing as a dry run', async () => {
    const before = gateway.put('needs_attention');
    expect(await flagged('fail job_a --dry-run', ...because)).toBe(0);
    expect(explained).toEqual(['Nothing stands against it. Nothing was changed.']);
    expect(job()).toEqual(before);
  });
});

describe('settle', () => {
  beforeEach(() => {
    gateway.put('needs_attention');
    gateway.put('needs_attention', { id: 'job_b', hold: undefined });
  });

  it('goes through all that match, page after page, and fails where one is refused', async () => {
    for (let index = 10; index < 70; index += 1) {
      gateway.put('needs_attention', { id: `job_${index}`, hold: undefined });
    }
    expect(await flagged('settle resend --yes', ...because)).toBe(1);
    expect(printed).toHaveLength(62);
    expect(printed).toContain('job_a\tstill_may_run\tfrom 2026-01-01T12:10:45.000Z');
    expect(explained).toEqual(['61 done, 1 still_may_run.']);
  });

  it('says first what it would do', async () => {
    expect(await flagged('settle fail --vendor studio --dry-run', ...because)).toBe(0);
    expect(printed).toEqual(['job_a\twould', 'job_b\twould']);
    expect(job().state).toBe('needs_attention');
  });

  it('says so where nothing matches', async () => {
    expect(await flagged('settle fail --lane slow --yes', ...because)).toBe(0);
    expect(explained).toEqual(['No job matches.']);
  });
});

it.each([
  '',
  'burn job_a',
  'show',
  'show job_a job_b',
  'fail job_a',
  'adopt job_a --reason x',
  'retake job_a --reason x --generation first',
  'settle fail --reason x',
  'settle fail --reason x --yes --dry-run',
  'settle adopt --reason x --yes',
  'list --limit 0',
  'list --tenant evil',
])('explains itself and asks nothing of the API: %j', async (line) => {
  gateway.put('needs_attention');
  expect(await flagged(line)).toBe(2);
  expect(explained.join()).toContain('THE USAGE');
  expect(server.requests).toEqual([]);
});

it.each<[Record<string, string>, string]>([
  [{}, '--url'],
  [{ SLOWLANE_URL: 'not a url', SLOWLANE_KEY: 'k' }, '--url'],
  [{ SLOWLANE_URL: 'ftp://slowlane.test', SLOWLANE_KEY: 'k' }, '--url'],
  [{ SLOWLANE_URL: 'https://slowlane.test' }, 'SLOWLANE_KEY'],
  [{ SLOWLANE_URL: 'https://slowlane.test', SLOWLANE_KEY: ' \n' }, 'SLOWLANE_KEY'],
  [{ SLOWLANE_URL: 'https://slowlane.test', SLOWLANE_KEY: 'key\nkey' }, 'no key has'],
  [{ SLOWLANE_URL: 'https://slowlane.test', SLOWLANE_KEY: 'Schlüssel€' }, 'no key has'],
])('asks for what it lacks: %j', async (variables, wanted) => {
  expect(await run(['list'], variables)).toBe(2);
  expect(explained.join()).toContain(wanted);
});

it.each([[['--help']], [['help']], [['list', '-h']]])('tells how it is used, of no deployment: %j', async (line) => {
  expect(await run(line, {})).toBe(0);
  expect(printed).toEqual(['THE USAGE']);
});

it('takes a key with the line break of its file', async () => {
  expect(await run(['list'], { SLOWLANE_URL: url, SLOWLANE_KEY: 'operator\n' })).toBe(0);
});

it('takes the deployment and the key from the command line too', async () => {
  expect(await run(['list', '--url', `${url}/`, '--key', 'operator'], {})).toBe(0);
  expect(await run(['list', '--url', url, '--key', 'a key of nobody'], {})).toBe(1);
  expect(explained.at(-1)).toContain('credentials_invalid');
  expect(explained.join()).not.toContain('a key of nobody');
});

describe('without an answer', () => {
  it('says that nobody knows what became of the order, and never repeats it', async () => {
    gateway.put('needs_attention');
    server.interferes = (response) => response.destroy();
    expect(await flagged('fail job_a --generation 1', ...because)).toBe(1);
    expect(explained[0]).toContain('Whether the order took effect is not known');
    expect(server.requests).toEqual(['POST /api/v1/operator/jobs/job_a/fail']);
  });

  it('does not take a page of something in between for an answer', async () => {
    server.interferes = (response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Hello</html>');
    expect(await flagged('list')).toBe(1);
    expect(explained[0]).toContain('answered 200, and nothing that this tool understands');
    expect(explained[0]).not.toContain('took effect');
  });

  it('carries its key to no other place', async () => {
    server.interferes = (response) => response.writeHead(307, { location: `${url}/elsewhere` }).end();
    expect(await flagged('list')).toBe(1);
    expect(server.requests).toEqual(['GET /api/v1/operator/flagged']);
  });
});
