import type { VendorTraits } from '../domain/vendor.ts';
import type { DeployedVendor } from '../runtime/env.ts';
import { isLoopbackHost, type VendorNetwork } from './network.ts';

/** A vendor's settings with every default filled in, as its adapter works with them. */
export interface VendorConfig {
  readonly name: string;
  readonly adapter: string;
  readonly secretArn: string;
  readonly traits: VendorTraits;
  readonly network: VendorNetwork;
  readonly pollMs: number;
  readonly webhooks: boolean;
  /** What only this adapter understands. */
  readonly options: unknown;
}

const minuteMs = 60_000;

/**
 * Reads one entry of VENDORS.
 * @throws Error naming all that is wrong with it: a deployment fault, found when the function starts.
 */
export function readVendorConfig(name: string, settings: DeployedVendor): VendorConfig {
  const network: VendorNetwork = {
    baseUrl: new URL(settings.baseUrl),
    resultHosts: settings.resultHosts ?? [],
    privateNetwork: settings.privateNetwork ?? false,
  };
  const wrong = [...wrongWithNetwork(network), ...wrongWithDedupe(settings)];
  if (wrong.length > 0) throw new Error(`vendor ${name}: ${wrong.join('; ')}`);
  return {
    name,
    adapter: settings.adapter,
    secretArn: settings.secretArn,
    traits: traitsOf(settings),
    network,
    pollMs: settings.pollMs ?? 2_000,
    webhooks: settings.webhooks ?? false,
    options: settings.options ?? {},
  };
}

function traitsOf(settings: DeployedVendor): VendorTraits {
  return {
    dedupe: settings.dedupe,
    dedupeMs: settings.dedupe === 'replay' ? (settings.dedupeMs ?? 0) : 0,
    // Absence proves something only where the vendor's documentation says so: the cautious reading is the default.
    absence: settings.absence ?? 'hint',
    listingLagMs: settings.listingLagMs ?? 10_000,
    maxLifeMs: settings.maxLifeMs,
    sendTimeoutMs: settings.sendTimeoutMs ?? 30_000,
    // With the back-off between them they last about the window: an outage of minutes must not fail what waits.
    maxSends: settings.maxSends ?? 40,
    sendWindowMs: settings.sendWindowMs ?? 60 * minuteMs,
  };
}

function wrongWithNetwork({ baseUrl, privateNetwork }: VendorNetwork): string[] {
  const wrong: string[] = [];
  if (baseUrl.username !== '' || baseUrl.password !== '') wrong.push('baseUrl must not carry credentials');
  if (baseUrl.search !== '' || baseUrl.hash !== '') wrong.push('baseUrl must not carry a query or fragment');
  if (baseUrl.protocol !== 'https:' && !privateNetwork && !isLoopbackHost(baseUrl)) {
    wrong.push('baseUrl must be https, unless privateNetwork is set');
  }
  return wrong;
}

function wrongWithDedupe({ dedupe, dedupeMs }: DeployedVendor): string[] {
  if (dedupe === 'replay' && !dedupeMs) return ['dedupe replay needs dedupeMs: how long the vendor remembers a key'];
  return [];
}
