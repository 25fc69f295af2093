import type { Adapter } from './adapter.ts';

/** A team's own adapters. Its CDK app puts a module of its own in this one's place (lib/bundle.ts, `ownModules`). */
export const ownAdapters: Readonly<Record<string, Adapter>> = {};
