import * as z from 'zod';
import type { Catalogue } from '../domain/catalogue.ts';
import type { FeaturesBody } from '../http/describe-api.ts';
import { definitionOf } from './features.ts';

/** The deployed features as an app reads them. */
export function describeFeatures(catalogue: Catalogue): FeaturesBody['features'] {
  return catalogue.all().map(({ name, picture, needsConsent, maxQueueMs, maxRunMs }) => {
    const { title, description, parameters } = definitionOf(name);
    const { $schema: _, ...params } = z.toJSONSchema(parameters, { io: 'input' });
    const image = picture === undefined ? null : { required: true as const, ...picture, accepts: [...picture.accepts] };
    return {
      name,
      title,
      description,
      params,
      inputs: { image },
      consent: needsConsent ? 'required' : 'none',
      maxQueueSeconds: maxQueueMs / 1000,
      maxRunSeconds: maxRunMs / 1000,
    };
  });
}
