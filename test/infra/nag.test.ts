import { rmSync } from 'node:fs';
import { Stack, Validations } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, test } from 'vitest';
import { buildStacks } from '../../lib/app.ts';
import { type Environment, environmentNamed } from '../../lib/environments.ts';
import { environmentWith, newApp, standInCode } from './synthesized.ts';

/** Synthesizes under cdk-nag's AwsSolutions rules: throws on a finding that nobody acknowledged. */
function check(environment: Environment): void {
  const app = newApp();
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  buildStacks(app, environment, standInCode);
  app.synth();
  rmSync(app.outdir, { recursive: true });
}

function addBareBucket(stack: Stack): Bucket {
  return new Bucket(stack, 'Bucket');
}

test.each(['dev', 'prod'] as const)('%s has no finding without a reason', (name) => {
  check(environmentNamed(name));
});

test('nor has an environment with domains, socket access logs, two lanes, a restored table and no vendor', () => {
  check(
    environmentWith({
      domain: { api: 'api.example.com', socket: 'live.example.com', certificateArn: 'arn:aws:acm:::certificate/1' },
      socketAccessLogs: true,
      protectData: { restoredTable: 'Slowlane-staging-data-restored' },
      lanes: { default: { cap: 1, ceiling: 2 }, slow: { cap: 1, ceiling: 2 } },
      vendors: {},
      features: {},
    }),
  );
});

test('the rules are in force: a bare bucket is a finding', () => {
  const app = newApp();
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  addBareBucket(new Stack(app, 'Bare'));
  expect(() => app.synth()).toThrow('AwsSolutions-S1');
  rmSync(app.outdir, { recursive: true });
});
