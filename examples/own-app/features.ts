import * as z from 'zod';
import type { FeatureDefinition } from '../../lambdas/catalogue/feature-definition.ts';

/** What this team's apps can ask for besides the features that come along. */
export const ownFeatures: Readonly<Record<string, FeatureDefinition>> = {
  'text-to-image': {
    title: 'Text to image',
    description: 'Makes a picture from words.',
    parameters: z.strictObject({
      prompt: z.string().min(1).max(2_000),
      aspect: z.enum(['square', 'portrait', 'landscape']).exactOptional(),
    }),
    picture: undefined,
    needsConsent: false,
    typicalRunMs: 25_000,
  },
};
