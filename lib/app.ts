import { type App, Stack, Tags } from 'aws-cdk-lib';
import type { FunctionCode } from './constructs/gateway-function.ts';
import type { Environment } from './environments.ts';
import { SlowlaneData } from './slowlane-data.ts';
import { Slowlane } from './slowlane.ts';

export interface SlowlaneStacks {
  readonly data: Stack;
  readonly gateway: Stack;
}

/** Two stacks, so that nothing that is replaced can take along what must survive. */
export function buildStacks(app: App, environment: Environment, code: FunctionCode): SlowlaneStacks {
  const { name } = environment;
  const terminationProtection = environment.protectData !== false;
  const dataStack = new Stack(app, `Slowlane-${name}-data`, {
    description: `Slowlane ${name}: jobs, pictures, secrets`,
    terminationProtection,
  });
  const data = new SlowlaneData(dataStack, 'Data', environment);

  const gatewayStack = new Stack(app, `Slowlane-${name}`, {
    description: `Slowlane ${name}: APIs, workers, reconciler, alarms`,
    terminationProtection,
  });
  new Slowlane(gatewayStack, 'Gateway', { environment, data, code });

  Tags.of(app).add('slowlane:environment', name);
  return { data: dataStack, gateway: gatewayStack };
}
