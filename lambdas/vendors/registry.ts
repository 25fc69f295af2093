import type { Clock, Waiting } from '../domain/ports.ts';
import type { Vendor, Vendors } from '../domain/vendor.ts';
import type { DeployedVendor } from '../runtime/env.ts';
import type { Secret, VendorSecret } from '../runtime/secrets.ts';
import type { Adapter } from './adapter.ts';
import { readVendorConfig } from './config.ts';
import { JobsApiVendor } from './jobs-api.ts';
import { ownAdapters } from './own-adapters.ts';

export interface RegistryWorld {
  readonly clock: Clock;
  readonly waiting: Waiting;
  /** The secret of one vendor's account, by its ARN. */
  readonly secretOf: (secretArn: string) => Secret<VendorSecret>;
}

const adapters: Readonly<Record<string, Adapter>> = {
  'jobs-api': (config, world) => new JobsApiVendor(config, world),
  ...ownAdapters,
};

/**
 * The vendors of this deployment, by name, each over one adapter.
 * @throws Error for a setting that no vendor can work with: a deployment fault, found when the function starts.
 */
export function createVendors(settings: Readonly<Record<string, DeployedVendor>>, world: RegistryWorld): Vendors {
  const vendors = new Map(Object.entries(settings).map(([name, each]) => [name, createVendor(name, each, world)]));
  return { named: (name) => vendors.get(name) };
}

function createVendor(name: string, settings: DeployedVendor, { clock, waiting, secretOf }: RegistryWorld): Vendor {
  const config = readVendorConfig(name, settings);
  const adapter = Object.hasOwn(adapters, config.adapter) ? adapters[config.adapter] : undefined;
  if (!adapter) throw new Error(`vendor ${name}: there is no adapter ${config.adapter}`);
  return adapter(config, { clock, waiting, secret: secretOf(config.secretArn) });
}
