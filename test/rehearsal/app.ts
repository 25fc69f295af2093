import { readFileSync, writeFileSync } from 'node:fs';
import { App, CfnOutput, CfnResource, Fn, type Stack } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import * as z from 'zod';
import { buildStacks } from '../../lib/app.ts';
import { bundleFunctions } from '../../lib/bundle.ts';
import { readContext } from '../../lib/context.ts';
import { parseEnvironment, type Environment } from '../../lib/environments.ts';
import { environmentSettings } from '../../lib/settings.ts';
import { gatewayPath } from './deploy.ts';
import { vendorName } from './vendor.ts';

/**
 * The dev environment as it is deployed in the rehearsal. It differs from `npx cdk deploy -c environment=dev` in
 * addresses: its vendor is the studio on this machine, its APIs are found at the emulator's address, since no name server
 * knows the emulator's `execute-api` hosts, and secrets are named by the attribute that is an ARN in the emulator too.
 */
const { CDK_OUTDIR, STUDIO_URL, AWS_ENDPOINT_URL } = z
  .object({ CDK_OUTDIR: z.string().min(1), STUDIO_URL: z.url(), AWS_ENDPOINT_URL: z.url() })
  .parse(process.env);

const templateSchema = z.looseObject({
  Resources: z.record(z.string(), z.looseObject({ Type: z.string() })),
  Outputs: z.record(z.string(), z.unknown()).optional(),
});
type CloudFormationTemplate = z.infer<typeof templateSchema>;

/** Shows what `Ref` of a secret is there: read by the difference `secret-ref`. */
const secretRefOutput = 'ProbeSecretRef';

function devWithStudio(): Environment {
  const { dev } = environmentSettings();
  // `dev` deploys a vendor that sees a key twice as two jobs, and that is told where to send its webhooks.
  const vendor = { ...dev.vendors[vendorName]!, baseUrl: `${STUDIO_URL}/blind` };
  return parseEnvironment('dev', { ...dev, vendors: { [vendorName]: vendor } });
}

function addressEmulator(gateway: Stack): void {
  const resources = gateway.node.findAll().filter((one) => CfnResource.isCfnResource(one));
  const idOf = (protocol: 'HTTP' | 'WEBSOCKET'): string => {
    const [api, second] = resources.filter((one) => Reflect.get(one, 'protocolType') === protocol);
    if (api === undefined || second !== undefined) throw new Error(`There must be one ${protocol} API.`);
    return api.ref;
  };
  const endpoint = AWS_ENDPOINT_URL.replace(/\/+$/, '');
  const httpApi = Fn.join('', [`${endpoint}${gatewayPath}/`, idOf('HTTP')]);
  const socketApi = ['/', idOf('WEBSOCKET'), '/v1'];
  const addresses: Readonly<Record<string, string>> = {
    PUBLIC_URL: httpApi,
    SOCKET_URL: Fn.join('', [`${endpoint.replace(/^http/, 'ws')}${gatewayPath}`, ...socketApi]),
    SOCKET_MANAGEMENT_URL: Fn.join('', [`${endpoint}${gatewayPath}`, ...socketApi]),
  };
  for (const resource of resources) {
    if (!(resource instanceof CfnFunction)) continue;
    const variables = gateway.resolve(resource.environment)?.variables ?? {};
    for (const [name, address] of Object.entries(addresses)) {
      if (name in variables) resource.addPropertyOverride(`Environment.Variables.${name}`, address);
    }
  }
}

/** `Ref` of a secret is its ARN on AWS; the attribute `Id` is so in both (difference `secret-ref`). */
function nameSecretsByArn(template: CloudFormationTemplate): CloudFormationTemplate {
  const isSecret = (id: unknown) => template.Resources[String(id)]?.Type === 'AWS::SecretsManager::Secret';
  const rewrite = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewrite);
    if (typeof value !== 'object' || value === null) return value;
    if ('Ref' in value && isSecret(value.Ref)) return { 'Fn::GetAtt': [value.Ref, 'Id'] };
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rewrite(member)]));
  };
  const { [secretRefOutput]: probe, ...outputs } = template.Outputs ?? {};
  const rewritten = templateSchema.parse(rewrite({ ...template, Outputs: outputs }));
  return probe === undefined
    ? rewritten
    : { ...rewritten, Outputs: { ...rewritten.Outputs, [secretRefOutput]: probe } };
}

const app = new App({ context: readContext(), outdir: CDK_OUTDIR });
const { data, gateway } = buildStacks(app, devWithStudio(), await bundleFunctions());
addressEmulator(gateway);
const [secret] = data.node.findAll().filter((one) => one instanceof CfnSecret);
new CfnOutput(data, secretRefOutput, { value: secret!.ref });
for (const { templateFullPath } of app.synth().stacks) {
  const template = templateSchema.parse(JSON.parse(readFileSync(templateFullPath, 'utf8')));
  writeFileSync(templateFullPath, JSON.stringify(nameSecretsByArn(template)));
}
