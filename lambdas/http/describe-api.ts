import * as z from 'zod';
import { answerJson } from './answer.ts';
import { byRoute, type Route } from './request.ts';

export const featuresSchema = z.object({
  features: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      description: z.string(),
      params: z.record(z.string(), z.unknown()).describe('JSON Schema of `params`.'),
      inputs: z.object({
        image: z
          .object({
            required: z.literal(true),
            accepts: z.array(z.string()),
            maxBytes: z.int(),
            maxPixels: z.int(),
          })
          .nullable(),
      }),
      consent: z.enum(['required', 'none']).describe('`required`: send `consent=confirmed`.'),
      maxQueueSeconds: z.int(),
      maxRunSeconds: z.int(),
    }),
  ),
});

export const healthSchema = z.object({ status: z.literal('ok'), environment: z.string() });

export type FeaturesBody = z.infer<typeof featuresSchema>;

export interface DescribeApiSettings {
  readonly environment: string;
  readonly publicUrl: string;
  readonly features: FeaturesBody['features'];
  /** Without its servers: those are the deployment's. */
  readonly openapi: object;
}

/** For everybody: none of these tells anything about anyone. */
export function describeApiRoute({ environment, publicUrl, features, openapi }: DescribeApiSettings): Route {
  const health: z.infer<typeof healthSchema> = { status: 'ok', environment };
  const description = { ...openapi, servers: [{ url: publicUrl }] };
  return byRoute({
    'GET /api/v1/features': async ({ requestId }) => answerJson(200, { features }, cacheable(requestId)),
    'GET /api/v1/openapi.json': async ({ requestId }) => answerJson(200, description, cacheable(requestId)),
    'GET /api/v1/health': async ({ requestId }) => answerJson(200, health, { requestId }),
  });
}

function cacheable(requestId: string) {
  return { requestId, headers: { 'Cache-Control': 'public, max-age=60' } };
}
