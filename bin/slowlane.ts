import { App } from 'aws-cdk-lib';
import { buildStacks } from '../lib/app.ts';
import { bundleFunctions } from '../lib/bundle.ts';
import { readContext } from '../lib/context.ts';
import { environmentNamed } from '../lib/environments.ts';

const app = new App({ context: readContext(), outdir: process.env['CDK_OUTDIR'] ?? 'cdk.out' });
const name: unknown = app.node.tryGetContext('environment') ?? 'dev';
const environment = environmentNamed(String(name), process.env['STUDIO_URL']);

buildStacks(app, environment, await bundleFunctions());
app.synth();
