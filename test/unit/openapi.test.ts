import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { httpRoutes } from '../../lib/routes.ts';
import { describeFeatures } from '../../lambdas/catalogue/describe-features.ts';
import { createCatalogue, featureDefinitions } from '../../lambdas/catalogue/features.ts';
import { featuresSchema } from '../../lambdas/http/describe-api.ts';
import { openApiDocument } from '../../openapi/document.ts';
import { operations } from '../../openapi/operations.ts';
import { operatorOperations } from '../../openapi/operator-operations.ts';
import { HttpGateway, deployedFeatures } from '../fixtures/http-gateway.ts';

const written = await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8');

/** Everything that the value refers to, at any depth. */
function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = '$ref' in value && typeof value.$ref === 'string' ? [value.$ref] : [];
  return [...own, ...Object.values(value).flatMap(referencesIn)];
}

describe('the OpenAPI document', () => {
  it('is the one that the code makes: `npm run openapi` writes it', () => {
    expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
  });

  it('describes exactly the deployed routes', () => {
    const deployed = httpRoutes.map(({ method, path }) => `${method} ${path}`);
    expect(Object.keys({ ...operations, ...operatorOperations }).toSorted()).toEqual(deployed.toSorted());
  });

  it('refers to nothing that is not in it', () => {
    const document: unknown = JSON.parse(written);
    const isThere = (reference: string): boolean =>
      reference
        .slice(2)
        .split('/')
        .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], document) !== undefined;
    const references = referencesIn(document);
    expect(references.length).toBeGreaterThan(50);
    expect(references.filter((reference) => !isThere(reference))).toEqual([]);
  });

  it('gives each operation a name of its own', () => {
    const names = Object.values({ ...operations, ...operatorOperations }).map(({ id }) => id);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('the features', () => {
  const catalogue = createCatalogue(deployedFeatures, () => 1);

  it('are shown with the schema that a submit is held to', () => {
    const features = describeFeatures(catalogue);
    expect(featuresSchema.parse({ features })).toEqual({ features });
    const stylize = features.find(({ name }) => name === 'stylize');
    expect(stylize).toMatchObject({
      consent: 'required',
      params: { properties: { style: { enum: ['sketch', 'poster', 'duotone'] } }, additionalProperties: false },
      inputs: { image: { required: true, accepts: ['image/jpeg', 'image/png', 'image/webp'] } },
      maxQueueSeconds: 3600,
    });
  });

  it('keep what was sent, and nothing else: a default is the vendor’s', () => {
    expect(catalogue.named('stylize')?.readParameters({})).toEqual({ kind: 'read', parameters: {} });
    const refused = catalogue.named('stylize')?.readParameters({ style: 'nude', shadow: 'red' });
    expect(refused).toMatchObject({ kind: 'invalid', errors: [{ field: 'style' }, { field: 'shadow' }] });
  });

  it('must be described, and their vendors deployed, or the function does not start', () => {
    const undress = { undress: { vendor: 'studio', lane: 'default', maxQueueSeconds: 1, maxRunSeconds: 1 } };
    expect(() => createCatalogue(undress, () => 1)).toThrow('the catalogue does not describe it');
    expect(() => createCatalogue(deployedFeatures, () => undefined)).toThrow('there is no vendor');
    expect(Object.keys(featureDefinitions)).toEqual(Object.keys(deployedFeatures));
  });
});

describe('describing the API', () => {
  it('needs no credentials, and names the deployment as the server', async () => {
    const gateway = new HttpGateway();
    const features = await gateway.call('GET /api/v1/features');
    expect(features.body).toEqual({ features: describeFeatures(createCatalogue(deployedFeatures, () => 1)) });
    const document = await gateway.call('GET /api/v1/openapi.json');
    expect(document.body).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'https://api.test' }] });
    expect((await gateway.call('GET /api/v1/health')).body).toEqual({ status: 'ok', environment: 'test' });
  });
});
