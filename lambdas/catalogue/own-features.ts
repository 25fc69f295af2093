import type { FeatureDefinition } from './feature-definition.ts';

/** A team's own features. Its CDK app puts a module of its own in this one's place (lib/bundle.ts, `ownModules`). */
export const ownFeatures: Readonly<Record<string, FeatureDefinition>> = {};
