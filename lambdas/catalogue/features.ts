import * as z from 'zod';
import type { Catalogue, Feature } from '../domain/catalogue.ts';
import type { FeatureDefinition } from './feature-definition.ts';
import { ownFeatures } from './own-features.ts';

const megabyte = 1_000_000;
const photograph = ['image/jpeg', 'image/png', 'image/webp'] as const;
const colour = z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour as #rrggbb');

export const featureDefinitions = {
  upscale: {
    title: 'Upscale',
    description: 'Makes the picture twice as wide and twice as high, with detail that a plain enlargement lacks.',
    parameters: z.strictObject({ scale: z.literal(2).exactOptional().describe('How many times as wide and as high.') }),
    picture: { accepts: photograph, maxBytes: 20 * megabyte, maxPixels: 512 * 512 },
    needsConsent: false,
    typicalRunMs: 20_000,
  },
  stylize: {
    title: 'Stylize',
    description: 'Redraws the photograph as a pencil sketch, as a poster, or in two inks.',
    parameters: z.strictObject({
      style: z.enum(['sketch', 'poster', 'duotone']).exactOptional().describe('`sketch` where it is absent.'),
      shadow: colour.exactOptional().describe('`duotone` only: the ink of the darkest parts.'),
      highlight: colour.exactOptional().describe('`duotone` only: the ink of the lightest parts.'),
    }),
    picture: { accepts: photograph, maxBytes: 20 * megabyte, maxPixels: 24_000_000 },
    needsConsent: true,
    typicalRunMs: 2_000,
  },
} as const satisfies Readonly<Record<string, FeatureDefinition>>;

export type FeatureName = keyof typeof featureDefinitions;

/** What a deployment says of one feature. */
export interface DeployedFeature {
  readonly vendor: string;
  readonly lane: string;
  readonly maxQueueSeconds: number;
  readonly maxRunSeconds: number;
}

/**
 * The features that are deployed. One that is no longer deployed is unknown to a new submit; its jobs keep what they need.
 * @throws Error for one that no definition describes, or whose vendor is not deployed: found when the function starts.
 */
export function createCatalogue(
  deployed: Readonly<Record<string, DeployedFeature>>,
  adapterVersionOf: (vendor: string) => number | undefined,
): Catalogue {
  const features = new Map(
    Object.entries(deployed).map(([name, settings]) => [name, createFeature(name, settings, adapterVersionOf)]),
  );
  return { named: (name) => features.get(name), all: () => [...features.values()] };
}

function createFeature(
  name: string,
  { vendor, lane, maxQueueSeconds, maxRunSeconds }: DeployedFeature,
  adapterVersionOf: (vendor: string) => number | undefined,
): Feature {
  const definition = definitionOf(name);
  const adapterVersion = adapterVersionOf(vendor);
  if (adapterVersion === undefined) throw new Error(`feature ${name}: there is no vendor ${vendor}`);
  return {
    name,
    vendor,
    adapterVersion,
    lane,
    maxQueueMs: maxQueueSeconds * 1000,
    maxRunMs: maxRunSeconds * 1000,
    typicalRunMs: definition.typicalRunMs,
    picture: definition.picture,
    needsConsent: definition.needsConsent,
    readParameters: (sent) => {
      const parsed = definition.parameters.safeParse(sent);
      if (parsed.success) return { kind: 'read', parameters: parsed.data };
      const errors = parsed.error.issues.map(({ path, message }) => ({ field: path.join('.'), message }));
      return { kind: 'invalid', errors };
    },
  };
}

/** @throws Error where there is none. */
export function definitionOf(name: string): FeatureDefinition {
  const definitions: Readonly<Record<string, FeatureDefinition>> = { ...featureDefinitions, ...ownFeatures };
  const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  if (definition === undefined) throw new Error(`feature ${name}: the catalogue does not describe it`);
  return definition;
}
