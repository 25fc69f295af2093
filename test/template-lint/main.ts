import { globSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { App } from 'aws-cdk-lib';
import * as z from 'zod';
import { buildStacks } from '../../lib/app.ts';
import { readContext } from '../../lib/context.ts';
import { type Environment, environmentNamed, environmentNames, parseEnvironment } from '../../lib/environments.ts';
import { environmentSettings } from '../../lib/settings.ts';
import { standInCode } from '../infra/synthesized.ts';
import { pythonEnvironment } from '../python/environment.ts';
import { runToEnd } from '../python/run-to-end.ts';

/**
 * `npm run lint:templates`: holds every template that can be deployed against AWS's own resource schemas and the rules of
 * cfn-lint. Warnings count. No AWS, no credentials.
 */

/** What the shipped environments leave off has a template too. */
const everythingOn: Environment = parseEnvironment('staging', {
  ...environmentSettings().staging,
  domain: {
    api: 'api.example.com',
    socket: 'live.example.com',
    certificateArn: 'arn:aws:acm:us-east-1:111111111111:certificate/00000000-0000-0000-0000-000000000000',
  },
  socketAccessLogs: true,
  protectData: true,
  lanes: { default: { cap: 4, ceiling: 20 }, slow: { cap: 1, ceiling: 1 } },
});

/** Rules that don't hold for us, and why. One that no longer finds anything must go. */
const excused: Readonly<Record<string, string>> = {
  W3005: 'CDK writes the dependency on a role out, though its ARN implies it: harmless, and not ours to leave off.',
  W6001: 'People look for the names of the table and the bucket at the gateway stack, which imports them.',
};

const findingsSchema = z.array(
  z.object({
    Filename: z.string(),
    Level: z.string(),
    Message: z.string(),
    Location: z.object({ Path: z.array(z.union([z.string(), z.number()])).nullable() }),
    Rule: z.object({ Id: z.string() }),
  }),
);

/** @returns what is wrong, a line each */
async function lint(folder: string): Promise<string[]> {
  const templates = synthesizeAll(folder);
  const environment = await pythonEnvironment('cfn-lint');
  const { output } = await runToEnd(environment.command('cfn-lint'), ['--format', 'json', '--', ...templates]);
  const findings = findingsSchema.parse(JSON.parse(output));
  const found = new Set(findings.map(({ Rule }) => Rule.Id));
  console.log(`${templates.length} templates, ${findings.length} findings`);
  for (const [rule, reason] of Object.entries(excused)) console.log(`  excused ${rule}: ${reason}`);
  return [
    ...findings
      .filter(({ Rule }) => !(Rule.Id in excused))
      .map(({ Filename, Level, Message, Location, Rule }) => {
        const place = `${path.relative(folder, Filename)} ${(Location.Path ?? []).join('/')}`;
        return `${Level} ${Rule.Id} ${place}: ${Message}`;
      }),
    ...Object.keys(excused)
      .filter((rule) => !found.has(rule))
      .map((rule) => `${rule} finds nothing any more: take its excuse away`),
  ];
}

function synthesizeAll(folder: string): string[] {
  for (const name of environmentNames) synthesizeInto(path.join(folder, name), environmentNamed(name));
  synthesizeInto(path.join(folder, 'everything-on'), everythingOn);
  return globSync('*/*.template.json', { cwd: folder })
    .toSorted()
    .map((file) => path.join(folder, file));
}

function synthesizeInto(outdir: string, environment: Environment): void {
  const app = new App({ context: readContext(), outdir });
  buildStacks(app, environment, standInCode);
  app.synth();
}

const folder = await mkdtemp(path.join(os.tmpdir(), 'slowlane-templates-'));
try {
  const wrong = await lint(folder);
  for (const line of wrong) console.error(line);
  if (wrong.length > 0) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
