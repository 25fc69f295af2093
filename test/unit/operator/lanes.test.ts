import { afterEach, beforeEach, expect, it } from 'vitest';
import { manageLanes } from '../../../operator/lanes.ts';
import { createOperatorApi } from '../../../operator/operator-api.ts';
import { runInTerminal } from '../../../operator/terminal-tool.ts';
import { OperatorGateway } from '../../fixtures/operator-gateway.ts';
import { OperatorServer } from '../../fixtures/operator-server.ts';

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

const lanes = (line: string, ...more: string[]) =>
  runInTerminal(
    'THE USAGE',
    {
      connect: createOperatorApi,
      variables: { SLOWLANE_URL: url, SLOWLANE_KEY: 'operator' },
      print: (text) => printed.push(text),
      explain: (text) => explained.push(text),
    },
    (tool) => manageLanes([...line.split(' '), ...more], tool),
  );
const because = ['--reason', 'an outage\nof theirs'];

it('lists the lanes', async () => {
  gateway.put('queued', { id: 'job_q' });
  gateway.put('running');
  expect(await lanes('list')).toBe(0);
  expect(printed).toEqual([
    'default\topen\tcap 2 of 8\t1 in flight\t1 queued\tdeployment: not changed since it was deployed',
    'slow\topen\tcap 1 of 2\t0 in flight\t0 queued\tdeployment: not changed since it was deployed',
  ]);
});

it('changes cap and state, and shows the lane as it is then', async () => {
  expect(await lanes('change default --cap 4 --state paused', ...because)).toBe(0);
  expect(printed).toEqual([
    'default\tpaused since 2026-01-01T12:01:00.000Z\tcap 4 of 8\t0 in flight\t0 queued\tkey:acme/key-of-operator: an outage of theirs',
  ]);
  expect(gateway.lanes.get('default')).toMatchObject({ cap: 4, state: 'paused' });
});

it('says until when a lane rests', async () => {
  await gateway.lanes.backOff('slow', gateway.clock.now() + 60_000);
  expect(await lanes('list')).toBe(0);
  expect(printed[1]).toContain('\t0 queued\trests until 2026-01-01T12:02:00.000Z\t');
});

it('prints JSON for scripts', async () => {
  await lanes('change default --cap 4 --json', ...because);
  expect(JSON.parse(printed[0] ?? '')).toMatchObject({ lane: 'default', cap: 4 });
});

it('says why a change is refused', async () => {
  expect(await lanes('change default --cap 9', ...because)).toBe(1);
  expect(explained[0]).toContain('The ceiling is 8.');
  expect(await lanes('change none --cap 1', ...because)).toBe(1);
  expect(explained[1]).toContain('lane_not_found');
});

it('says what it would change, and changes nothing', async () => {
  expect(await lanes('change default --cap 4 --state paused --dry-run', ...because)).toBe(0);
  expect(explained).toEqual(['Would change cap 2 → 4, state open → paused. Nothing was changed.']);
  expect(await lanes('change default --cap 9 --dry-run', ...because)).toBe(1);
  expect(gateway.lanes.get('default')).toMatchObject({ cap: 2, state: 'open' });
});

it.each([
  '',
  'change',
  'change default',
  'change default --cap 3',
  'change default --reason x',
  'change default --cap --reason x',
  'change default --cap= --reason x',
  'change default --cap many --reason x',
  'change default --cap -1 --reason x',
  'change default --state tripped --reason x',
  'change default slow --cap 1 --reason x',
])('explains itself and changes nothing: %j', async (line) => {
  expect(await lanes(line)).toBe(2);
  expect(explained.join()).toContain('THE USAGE');
  expect(server.requests).toEqual([]);
});

it('says how it is used, as an answer', async () => {
  expect(await lanes('--help')).toBe(0);
  expect(printed).toEqual(['THE USAGE']);
  expect(explained).toEqual([]);
});
