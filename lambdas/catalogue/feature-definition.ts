import type * as z from 'zod';
import type { PictureRule } from '../domain/catalogue.ts';
import type { JsonObject } from '../domain/vendor.ts';

/**
 * What this product can be asked for. Where each feature runs, and for how long it may, is the deployment's decision.
 * No feature here undresses or sexualises people, and none may be added that does.
 */
export interface FeatureDefinition {
  readonly title: string;
  readonly description: string;
  readonly parameters: z.ZodType<JsonObject>;
  readonly picture: PictureRule | undefined;
  readonly needsConsent: boolean;
  readonly typicalRunMs: number;
}
