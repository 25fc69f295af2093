import type { JobStore } from '../../../lambdas/domain/ports.ts';
import type { MemoryJobIndex } from '../../fakes/memory-job-index.ts';
import type { MemoryJobStore } from '../../fakes/memory-job-store.ts';
import type { MemoryLaneStore } from '../../fakes/memory-lane-store.ts';
import type { Actor } from './actor.ts';
import type { Simulation } from './simulation.ts';
import type { SimulatedWorld } from './world-of.ts';

/** What a sandbox keeps in the table. */
export type Stores = Pick<SimulatedWorld, 'jobs' | 'lanes' | 'evidence' | 'audit' | 'owners'>;

/** Where a simulated world keeps what the product keeps in DynamoDB. */
export interface Tables {
  /** What is stored, as it is at any moment: for whoever watches. */
  readonly jobs: MemoryJobStore;
  readonly lanes: MemoryLaneStore;
  readonly index: MemoryJobIndex;
  /** Without anything that can go wrong: for what a scenario begins with. */
  readonly direct: JobStore;
  /** As one sandbox has them: what it asks of them is an effect that can go wrong. */
  storesOf(simulation: Simulation, actor: Actor): Stores;
  /** Takes a backup. Returns what restores it. */
  backUp(): () => void;
  /** What is beside the jobs and should not be so, in the end. */
  amiss(): readonly string[];
}

export type CreateTables = (caps: Readonly<Record<string, number>>) => Tables;
