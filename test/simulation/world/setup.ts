import type { Effect, FaultPlan } from './faults.ts';
import type { VendorSetup } from './simulated-vendor.ts';
import type { CreateTables } from './tables.ts';
import type { Version } from './version.ts';

/** What a simulated world is made of. */
export interface Setup {
  readonly vendors: readonly VendorSetup[];
  readonly caps: Readonly<Record<string, number>>;
  readonly plan: FaultPlan;
  /** How long an effect takes to be done, and its answer to come back. */
  readonly latencyMs?: (effect: Effect) => readonly [number, number];
  readonly skewMs?: () => number;
  /** How late the indexes are. */
  readonly indexLagMs?: () => number;
  readonly ringDelayMs?: () => number;
  readonly workerShiftMs?: number;
  /** Without it, the tables are the fakes. */
  readonly createTables?: CreateTables;
  /** Which version the nth sandbox runs; without it, all run this one. */
  readonly versionOf?: (role: 'worker' | 'tick', nth: number) => Version;
}
