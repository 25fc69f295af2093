import { App, Stack } from 'aws-cdk-lib';
import path from 'node:path';
import { bundleFunctions } from '../../lib/bundle.ts';
import { parseEnvironment } from '../../lib/environments.ts';
import { environmentSettings } from '../../lib/settings.ts';
import { SlowlaneData } from '../../lib/slowlane-data.ts';
import { Slowlane } from '../../lib/slowlane.ts';

/**
 * The two constructs in a team's own CDK app, with a feature, an adapter and an issuer of its own:
 * `npx cdk synth --app "node examples/own-app/app.ts"`.
 */

const { dev } = environmentSettings();
const environment = parseEnvironment('dev', {
  ...dev,
  lanes: { ...dev.lanes, paintshop: { cap: 4, ceiling: 10 } },
  vendors: {
    ...dev.vendors,
    paintshop: { adapter: 'paintshop', baseUrl: 'https://api.paintshop.example', dedupe: 'none', webhooks: true },
  },
  features: {
    ...dev.features,
    'text-to-image': { vendor: 'paintshop', lane: 'paintshop', maxQueueSeconds: 3_600, maxRunSeconds: 600 },
  },
  // Signed-in users of a Cognito user pool; `custom:tenant` is an attribute of ours that holds the customer's name.
  issuers: [
    {
      issuer: 'https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example00',
      audience: 'exampleappclientid0000000000',
      tenantClaim: 'custom:tenant',
    },
  ],
});

const app = new App({ outdir: process.env['CDK_OUTDIR'] ?? 'cdk.out' });
const code = await bundleFunctions(undefined, {
  features: path.join(import.meta.dirname, 'features.ts'),
  adapters: path.join(import.meta.dirname, 'adapters.ts'),
});
const data = new SlowlaneData(new Stack(app, 'Pictures-data'), 'Data', environment);
const gateway = new Slowlane(new Stack(app, 'Pictures'), 'Gateway', { environment, data, code });

// The team's own things go on from here: rules on `gateway.eventBus`, routes of other functions, dashboards.
void gateway;
app.synth();
