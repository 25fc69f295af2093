import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startLocal } from '../../../local/start-local.ts';

const fixture = path.resolve(import.meta.dirname, '../../fixtures/local-assembly');

interface Template {
  Resources: Record<string, { Type: string; Properties: Record<string, unknown> }>;
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'slowlane-refused-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function startWith(change: (resources: Template['Resources']) => void): Promise<void> {
  const assemblyFolder = path.join(folder, 'assembly');
  await cp(fixture, assemblyFolder, { recursive: true });
  const file = path.join(assemblyFolder, 'Probe.template.json');
  const template = JSON.parse(await readFile(file, 'utf8')) as Template;
  change(template.Resources);
  await writeFile(file, JSON.stringify(template));
  const local = await startLocal({ dataDir: path.join(folder, 'data'), assemblyFolder, quiet: true });
  await local.stop();
}

it.each<[string, (resources: Template['Resources']) => void, RegExp]>([
  [
    'lets no route invoke its function',
    (r) => delete r['SlowRoutePermission'],
    /Permission lets .*GET\/slow invoke slow/,
  ],
  [
    'lets no authorizer invoke its function',
    (r) => delete r['AuthorizerPermission'],
    /authorizers\/\w+ invoke authorize/,
  ],
  [
    "grants a mapping's function no receiving",
    (r) => delete r['WorkerPolicy'],
    /not authorized to perform: sqs:ReceiveMessage/,
  ],
  [
    'makes messages visible again before their function is out of time',
    (r) => Object.assign(r['Queue']!.Properties, { VisibilityTimeout: 1 }),
    /visibility timeout is less than the timeout of work/,
  ],
  [
    'puts an authorizer in front of an HTTP route',
    (r) => Object.assign(r['SlowRoute']!.Properties, { AuthorizationType: 'JWT' }),
    /without API Gateway authorizers/,
  ],
  [
    'filters messages',
    (r) => Object.assign(r['Mapping']!.Properties, { FilterCriteria: { Filters: [] } }),
    /filters no messages/,
  ],
  [
    'names what nothing declares',
    (r) => Object.assign(r['Probe']!.Properties, { Environment: { Variables: { URL: { Ref: 'Absent' } } } }),
    /no resource Absent/,
  ],
])('is not served where a template %s', async (_, change, message) => {
  await expect(startWith(change)).rejects.toThrow(message);
  // What had been started is stopped: the folder can be opened again.
  await startWith(() => undefined);
});

it('serves a route less where the template has a route less', async () => {
  const assemblyFolder = path.join(folder, 'assembly');
  await cp(fixture, assemblyFolder, { recursive: true });
  const file = path.join(assemblyFolder, 'Probe.template.json');
  const template = JSON.parse(await readFile(file, 'utf8')) as Template;
  delete template.Resources['SlowRoute'];
  await writeFile(file, JSON.stringify(template));
  const local = await startLocal({ dataDir: path.join(folder, 'data'), assemblyFolder, quiet: true });
  expect((await fetch(`${local.url}/slow`)).status).toBe(404);
  expect((await fetch(`${local.url}/act/literal`)).status).toBe(200);
  await local.stop();
});
