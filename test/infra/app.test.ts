import { rmSync } from 'node:fs';
import recommended from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { expect, test } from 'vitest';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { buildStacks } from '../../lib/app.ts';
import { type EnvironmentName, environmentNamed } from '../../lib/environments.ts';
import { newApp, standInCode } from './synthesized.ts';

function stacksOf(name: EnvironmentName) {
  const app = newApp();
  const stacks = buildStacks(app, environmentNamed(name), standInCode);
  rmSync(app.outdir, { recursive: true, force: true });
  return stacks;
}

test('an environment is two stacks, named after it', () => {
  const { data, gateway } = stacksOf('local');
  expect([data.stackName, gateway.stackName]).toEqual(['Slowlane-local-data', 'Slowlane-local']);
});

test.each([
  ['prod', true],
  ['dev', false],
] as const)('whether the stacks of %s can be deleted by mistake: protected is %s', (name, isProtected) => {
  const { data, gateway } = stacksOf(name);
  expect([data.terminationProtection, gateway.terminationProtection]).toEqual([isProtected, isProtected]);
});

test('CDK behaves as it recommends, but for references between the stacks: an export in use keeps its resource', () => {
  const crossStack = '@aws-cdk/core:defaultCrossStackReferences';
  expect(cdkJson.context).toEqual({ ...recommended, [crossStack]: 'strong' });
});

test('the CDK CLI runs the app as we do', () => {
  expect(cdkJson).toMatchObject({ app: 'node bin/slowlane.ts', output: 'cdk.out' });
});
