import { App } from 'aws-cdk-lib';
import { buildStacks } from '../lib/app.ts';
import { bundleFunctions } from '../lib/bundle.ts';
import { readContext } from '../lib/context.ts';
import { environmentNamed } from '../lib/environments.ts';

try {
  const app = new App({ context: readContext(), outdir: process.env['CDK_OUTDIR'] ?? 'cdk.out' });
  const name: unknown = app.node.tryGetContext('environment') ?? 'dev';
  const environment = environmentNamed(String(name), process.env['STUDIO_URL']);
  buildStacks(app, environment, await bundleFunctions());
  app.synth();
} catch (error) {
  // A wrong setting says all that a person needs; our own mistakes keep their stack.
  const isMistake = !(error instanceof Error) || error instanceof TypeError || error instanceof ReferenceError;
  console.error(isMistake ? error : error.message);
  process.exitCode = 1;
}
