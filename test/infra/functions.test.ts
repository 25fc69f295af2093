import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { functionEnvironments, type FunctionName } from '../../lambdas/runtime/env.ts';
import { bundleFunctions } from '../../lib/bundle.ts';
import { deployedVariables } from './deployed-variables.ts';
import { idPart, onlyResource, templatesOf } from './synthesized.ts';

const names = Object.keys(functionEnvironments) as FunctionName[];
const bundleOf = (name: FunctionName) => join(import.meta.dirname, '../../.build/functions', name, 'index.mjs');

/** Imports every bundle as Lambda would, each with its own variables and no other, and prints what its handler is. */
const importer = `
  for (const [path, variables] of JSON.parse(process.argv[1])) {
    process.env = { AWS_REGION: 'eu-central-1', ...variables };
    const { handler } = await import(path);
    console.log(typeof handler);
  }
`;

beforeAll(async () => {
  await bundleFunctions();
});

describe('the bundles', () => {
  test('start with the variables that they are deployed with, and export a handler', () => {
    const { gateway } = templatesOf('local');
    const starts = names.map((name) => {
      const id = idPart(name === 'dispatch-job' ? 'dispatch-job-default' : name);
      return [bundleOf(name), deployedVariables(onlyResource(gateway, 'AWS::Lambda::Function', id))];
    });
    const printed = execFileSync(
      process.execPath,
      ['--input-type=module', '-e', importer, '--', JSON.stringify(starts)],
      {
        encoding: 'utf8',
      },
    );
    expect(printed.trim().split('\n')).toEqual(names.map(() => 'function'));
  }, 120_000);

  test.each(names)('%s is at most 540 KB: each cold start waits for what is loaded', (name) => {
    expect(statSync(bundleOf(name)).size).toBeLessThanOrEqual(540_000);
  });
});
