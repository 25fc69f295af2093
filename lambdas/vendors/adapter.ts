import type { Vendor } from '../domain/vendor.ts';
import type { VendorConfig } from './config.ts';
import type { VendorWorld } from './jobs-api.ts';

/** Makes the vendor that one entry of VENDORS describes. */
export type Adapter = (config: VendorConfig, world: VendorWorld) => Vendor;
