import { rmSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { buildStacks } from '../../lib/app.ts';
import { readContext } from '../../lib/context.ts';
import {
  type Environment,
  environmentNamed,
  type EnvironmentName,
  type EnvironmentSettings,
  parseEnvironment,
} from '../../lib/environments.ts';
import { environmentSettings } from '../../lib/settings.ts';

export interface Templates {
  readonly data: Template;
  readonly gateway: Template;
}

export interface Resource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

const shipped = new Map<EnvironmentName, Templates>();

/** The templates of a shipped environment. Synthesis takes seconds, so each is made once per test file. */
export function templatesOf(name: EnvironmentName): Templates {
  const templates = shipped.get(name) ?? synthesize(environmentNamed(name));
  shipped.set(name, templates);
  return templates;
}

export function synthesize(environment: Environment): Templates {
  const app = newApp();
  const { data, gateway } = buildStacks(app, environment, standInCode);
  const templates = { data: Template.fromStack(data), gateway: Template.fromStack(gateway) };
  rmSync(app.outdir, { recursive: true });
  return templates;
}

/** The app as bin/slowlane.ts makes it, except that it writes to a temporary folder. */
export function newApp(): App {
  return new App({ context: readContext() });
}

/** What the functions do is no part of the template. */
export const standInCode = () => Code.fromInline('exports.handler = async () => ({});');

/** A shipped environment with some settings replaced. */
export function environmentWith(changes: Partial<EnvironmentSettings>, name: EnvironmentName = 'staging'): Environment {
  return parseEnvironment(name, { ...environmentSettings()[name], ...changes });
}

export function resourcesOf(template: Template, type: string): Readonly<Record<string, Resource>> {
  return template.findResources(type) as Record<string, Resource>;
}

/** The one resource of the type whose logical id contains `part`. */
export function onlyResource(template: Template, type: string, part = ''): Resource {
  const found = Object.entries(resourcesOf(template, type)).filter(([id]) => id.includes(part));
  if (found.length !== 1) throw new Error(`${found.length} resources of type ${type} are called …${part}…`);
  return found[0]![1];
}

/** Logical ids leave out dashes: `submit-job` is in `GatewaysubmitjobFunction…`. */
export function idPart(name: string): string {
  return `Gateway${name.replaceAll('-', '')}`;
}
